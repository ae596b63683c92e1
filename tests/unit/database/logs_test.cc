// Which writes of the logs count, and with which numbers.
#include "tests/unit/database/log_database.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"

namespace recordfs::database {
namespace {

TEST(RecycledLogTest, RenamedLogThatWasNotYetWrittenToHasNoWrites) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 1, put("a", "1"))}, 5);
  database.write_log("000007.log", {batch(3, 1, put("a", "old")), batch(4, 1, put("b", "old"))}, 3);
  EXPECT_EQ(database.read(), Records{"a=1"});
}

TEST(RecycledLogTest, RenamedLogAloneHasNoWritesEither) {
  const LogDatabase database;
  database.write_log("000007.log", {batch(3, 1, put("a", "old"))}, 3);
  const auto log = Database::open_file({}, database.folder() + "/000007.log");
  ASSERT_TRUE(log);
  EXPECT_TRUE(list_keys(**log).empty());
  ASSERT_EQ((*log)->problems().size(), 1u);
  EXPECT_EQ((*log)->problems()[0].error.code, Code::kUnsupported);
  EXPECT_EQ((*log)->problems()[0].error.detail, "the records are those of log 3, which its database ignores");
}

TEST(RecycledLogTest, DamagedLastRecordIsNotTheRestOfAnOlderLog) {
  const LogDatabase database;
  leveldb_log::LogWriter log({.log_number = 5});
  log.append(batch(10, 1, put("a", "1")));
  const std::string before = log.log();
  const std::string record = leveldb_log::fragment(5, batch(11, 1, put("a", "2")), 5);
  for (std::size_t at = 0; at < record.size(); ++at) {
    std::string damaged = record;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    database.write("000005.log", before + damaged);
    const auto opened = open_database(database.folder());
    const auto keys = list_keys(*opened);
    ASSERT_EQ(keys.size(), 1u);
    EXPECT_TRUE(keys[0].value == "1" && keys[0].version.may_be_stale) << at;
  }
  database.write("000005.log", before + std::string(20, '\0') + record.substr(20));
  EXPECT_TRUE(list_keys(*open_database(database.folder()))[0].version.may_be_stale);
  std::string damaged = record;
  damaged.back() ^= 1;
  database.write("000005.log", before + damaged + leveldb_log::fragment(5, batch(3, 1, put("a", "old")), 3));
  EXPECT_TRUE(list_keys(*open_database(database.folder()))[0].version.may_be_stale);
  const std::string rest = leveldb_log::fragment(5, batch(3, 1, put("a", "old")), 3);
  database.write("000005.log", before + rest.substr(5) + std::string(20, 'x'));
  const auto opened = open_database(database.folder());
  EXPECT_EQ(get(*opened, "a"), "1");
  for (const Problem& problem : opened->problems()) EXPECT_FALSE(problem.loses_data) << problem.error.detail;
  const std::string like_filling("\0\0\0\2\0\0\0\1\6pa", 11);
  for (const bool is_end : {true, false}) {
    database.write("000005.log", before + like_filling + rest + (is_end ? "" : record));
    const auto problems = open_database(database.folder())->problems();
    EXPECT_EQ(std::ranges::none_of(problems, &Problem::loses_data), is_end);
  }
}

TEST(PebbleLogTest, MarkAtTheEndIsNoDamage) {
  const LogDatabase database;
  leveldb_log::LogWriter log({.log_number = 5});
  log.append(batch(10, 1, put("a", "1")));
  log.append_raw("\0\0\0\0\0\0\5\6\0\0\0"s);
  database.write("000005.log", log.log());
  database.write("000006.log", "\0\0\0\0\0\0\5\7\0\0\0"s);
  EXPECT_EQ(database.read(), Records{"a=1"});
}

TEST(NumberingTest, WritesThatWereNeverCommittedDoNotCount) {
  const LogDatabase database;
  database.write_log("000005.log",
                     {batch(10, 2, kNoop + put("a", "1") + put("b", "1") + kNoop),
                      batch(11, 2, kBeginPersistedPrepare + put("a", "2") + put("c", "2") + end_prepare("t")),
                      batch(12, 1, kBeginUnprepare + put("b", "3") + end_prepare("u"))});
  EXPECT_EQ(database.read(), (Records{"a=1", "b=1"}));
}

TEST(NumberingTest, CommittedAndRolledBackWritesCount) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 1, kBeginPersistedPrepare + put("a", "1") + end_prepare("t")),
                                    batch(11, 1, kBeginPersistedPrepare + put("b", "2") + end_prepare("u"))});
  database.write_log("000006.log", {batch(12, 0, commit("t")), batch(13, 1, remove("b") + rollback("u"))});
  EXPECT_EQ(database.read(), Records{"a=1"});
}

TEST(NumberingTest, LaterWriteAfterABatchOfManyWins) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 3, kNoop + put("a", "1") + put("b", "1") + put("c", "1") + kNoop),
                                    batch(11, 2, kNoop + put("b", "2") + remove("c") + kNoop)});
  EXPECT_EQ(database.read(), (Records{"a=1", "b=2"}));
}

TEST(NumberingTest, SecondWriteOfAKeyInABatchWins) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 3, kNoop + put("a", "1") + put("a", "2") + put("b", "1") + kNoop),
                                    batch(12, 1, kNoop + remove("b") + kNoop)});
  EXPECT_EQ(database.read(), Records{"a=2"});
}

TEST(NumberingTest, MarksInALaterLogCountForAllLogs) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 3, put("a", "1") + put("b", "1") + put("c", "1") + rollback("t")),
                                    batch(11, 1, remove("c") + rollback("t"))});
  database.write_log("000006.log", {batch(12, 1, kBeginPersistedPrepare + put("d", "1") + end_prepare("u"))});
  EXPECT_EQ(database.read(), (Records{"a=1", "b=1"}));
}

TEST(NumberingTest, EmptyTransactionAtTheEndOfAGroupIsNoMark) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 2, put("a", "1") + put("b", "1") + kNoop), batch(12, 1, put("b", "2"))});
  const auto opened = open_database(database.folder());
  EXPECT_EQ(get(*opened, "b", 0, 11), "1");
  EXPECT_EQ(get(*opened, "b", 0, 10), "not found");
}

TEST(OpenEndTest, LaterLogThatDoesNotContinueACutOneIsReported) {
  const LogDatabase database;
  database.write("000005.log", cut_log(10));
  database.write_log("000006.log", {batch(12, 1, put("c", "1"))});
  EXPECT_EQ(database.read(), (Records{"a=1", "c=1", "000005.log: the file ends inside a record",
                                      "000005.log: the file ends inside a record: the writes 11 to 11 are in no log"}));
}

TEST(OpenEndTest, LogThatContinuesACutOneIsSound) {
  const LogDatabase database;
  database.write("000005.log", cut_log(10));
  database.write_log("000006.log", {batch(11, 0, ""), batch(11, 1, put("c", "1"))});
  const auto opened = open_database(database.folder());
  EXPECT_EQ(get(*opened, "c"), "1");
  for (const Problem& problem : opened->problems()) EXPECT_FALSE(problem.loses_data) << problem.error.detail;
}

TEST(OpenEndTest, LogThatDoesNotContinueARecycledOneIsReported) {
  const LogDatabase database;
  leveldb_log::LogWriter log({.log_number = 5});
  log.append(batch(10, 1, put("a", "1")));
  log.append_raw(leveldb_log::fragment(5, batch(2, 1, put("b", "old")), 3));
  database.write("000005.log", log.log());
  database.write_log("000006.log", {batch(11, 1, put("c", "1"))}, 6);
  EXPECT_EQ(database.read(), (Records{"a=1", "c=1"}));
  database.write_log("000006.log", {batch(14, 1, put("c", "1"))}, 6);
  EXPECT_EQ(
      database.read(),
      (Records{"a=1", "c=1", "000005.log: left from an earlier use of the file: the writes 11 to 13 are in no log"}));
}

// A database with the writes 10 and 11 in log 5, and 12 in log 7. All may be stale if one of the logs is not in its
// place.
class LogOrderTest : public ::testing::Test {
 protected:
  LogOrderTest() {
    write("000005.log", kFirst);
    write("000007.log", kSecond);
    write_options("OPTIONS-000003");
  }
  void write(const std::string& name, const Records& batches) const { database_.write_log(name, batches); }
  void state_last_write(char number) const { database_.write_manifest(5, std::string{'\4', number}); }
  void keep_logs_from(char log) const { database_.write_manifest(log, std::string{'\x0a', log}); }
  void write_options(const std::string& name, const std::string& option = "") const {
    database_.write(name, "[DBOptions]\n" + option);
  }
  // Returns the keys that may be stale, and the problems.
  Records problems() const {
    Records lines;
    const auto opened = open_database(database_.folder());
    for (const ListedKey& key : list_keys(*opened)) {
      if (key.version.may_be_stale) lines.push_back(key.key);
    }
    for (const Problem& problem : opened->problems()) lines.push_back(problem.file + ": " + problem.error.detail);
    return lines;
  }

  const Records kFirst{batch(10, 1, put("a", "1")), batch(11, 1, put("b", "1"))};
  const Records kSecond{batch(12, 1, put("a", "2"))};
  const std::string kOther = "and the log before it has later ones, so one of them is not the log of its name";

 private:
  LogDatabase database_;
};

TEST_F(LogOrderTest, SwappedOrOverwrittenLogsMarkAllValues) {
  EXPECT_EQ(problems(), Records());
  write("000005.log", kSecond);
  EXPECT_EQ(problems(), (Records{"a", "000007.log: begins with write 12, " + kOther}));
  write("000007.log", kFirst);
  EXPECT_EQ(problems(), (Records{"a", "b", "000007.log: begins with write 10, " + kOther}));
  write("000005.log", kFirst);
  EXPECT_EQ(problems(), (Records{"a", "b", "000007.log: begins with write 10, " + kOther}));
}

TEST_F(LogOrderTest, PreparedTransactionTakesNoNumber) {
  write("000005.log", {batch(12, 1, kBeginPrepare + put("b", "1") + end_prepare("t"))});
  EXPECT_EQ(problems(), Records());
}

TEST_F(LogOrderTest, NoLogOfOneUseFollowsAnEmptyOne) {
  write("000006.log", {});
  write("000007.log", {batch(13, 1, put("a", "2"))});
  state_last_write(20);  // in a table
  EXPECT_EQ(problems(), (Records{"b",
                                 "000006.log: no writes, although the writes 12 to 12 are in no other log, so they "
                                 "may be lost"}));
  write_options("OPTIONS-000003", "reuse_manifest_on_open=true\n");  // it may have been opened, and ended meanwhile
  EXPECT_EQ(problems(), Records());
  write_options("OPTIONS-000003", "reuse_manifest_on_open=false\n");
  EXPECT_EQ(problems().size(), 2u);
  write_options("OPTIONS-000006");  // the database was opened again
  EXPECT_EQ(problems(), Records());
}

TEST_F(LogOrderTest, FirstLogThatTheManifestKeepsMustExistUnlessItIsOfAnEarlierUse) {
  keep_logs_from(6);
  write_options("OPTIONS-000003", "reuse_manifest_on_open=true\n");
  EXPECT_EQ(problems(), Records());
  write_options("OPTIONS-000003");
  EXPECT_EQ(problems(), (Records{"a", "000006.log: the MANIFEST keeps this write-ahead log, and it does not exist"}));
  write_options("OPTIONS-000006");
  EXPECT_EQ(problems(), Records());
}

class PredecessorTest : public ::testing::Test {
 protected:
  // Writes logs 5 and 6. Log 6 says that log `number` before it had so many bytes, and its last batch a number.
  void write(std::uint64_t number, std::uint64_t size, std::uint64_t last_sequence) const {
    database_.write("000005.log", kFirst);
    leveldb_log::LogWriter log;
    log.append_raw(leveldb_log::fragment(
        130, little_endian(number, 8) + little_endian(size, 8) + little_endian(last_sequence, 8)));
    log.append(batch(11, 1, put("b", "1")));
    database_.write("000006.log", log.log());
  }
  Records read() const { return database_.read(); }

  const std::string kFirst = leveldb_log::fragment(1, batch(10, 1, put("a", "1")));

 private:
  LogDatabase database_;
};

TEST_F(PredecessorTest, LogBeforeItAsItSaysIsSound) {
  write(5, kFirst.size(), 10);
  EXPECT_EQ(read(), (Records{"a=1", "b=1"}));
}

TEST_F(PredecessorTest, ShorterOrOtherOrMissingLogBeforeItIsReported) {
  write(5, kFirst.size() + 9, 10);
  EXPECT_EQ(read().back(), "000006.log: the log before this one, 000005.log, has 24 bytes, and had 33");
  write(5, kFirst.size(), 12);
  EXPECT_EQ(read().back(), "000006.log: the log before this one, 000005.log, ends with write 10, and ended with 12");
  write(7, kFirst.size(), 10);
  EXPECT_EQ(read().back(), "000006.log: the log before this one, 000007.log, does not exist");
}

TEST_F(PredecessorTest, ObsoleteLogBeforeItNeedNotExist) {
  write(4, 100, 3);
  EXPECT_EQ(read(), (Records{"a=1", "b=1"}));
}

TEST(CommitTimestampTest, WritesHaveTheTimestampOfTheCommit) {
  const LogDatabase database("leveldb.BytewiseComparator.u64ts");
  const std::string unset = little_endian(0, 8);
  database.write_log("000005.log",
                     {batch(10, 1, put("a" + little_endian(20, 8), "old")),
                      batch(11, 2, kBeginPrepare + put("a" + unset, "new") + put("b" + unset, "1") + end_prepare("t")),
                      batch(11, 0, commit_at(30, "t"))});
  EXPECT_EQ(database.read(), (Records{"a=new", "b=1"}));
  const auto opened = open_database(database.folder());
  EXPECT_EQ(opened->get({}, 0, as_bytes("a"))->version.timestamp, 30u);
  const auto before = opened->get({}, 0, as_bytes("a"), {kNewest, 29});
  ASSERT_TRUE(before);
  EXPECT_EQ(as_text(before->value.bytes), "old");
}

TEST(CompactedTimestampTest, LostBlockMarksOlderVersionsWhateverNumbersTheManifestStates) {
  const LogDatabase database("leveldb.BytewiseComparator.u64ts");
  leveldb_table::TableWriter table;
  table.add({{leveldb_table::internal_key("a" + little_endian(30, 8), 30, 0x14), ""}});
  table.add({{leveldb_table::internal_key("a" + little_endian(20, 8), 20, 1), "old"}});
  std::string bytes = table.finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator.u64ts"}});
  const std::string smallest = text_field(leveldb_table::internal_key("a" + little_endian(30, 8), 30, 0x14));
  const std::string largest = text_field(leveldb_table::internal_key("a" + little_endian(20, 8), 20, 1));
  const std::string size = {static_cast<char>(bytes.size() % 128 | 128), static_cast<char>(bytes.size() / 128)};
  leveldb_log::LogWriter edits;
  edits.append("\1"s + text_field("leveldb.BytewiseComparator.u64ts") + "\2\5\x09\0\3\x20\4\x30\xcb\x01\7"s);
  edits.append("\x67\6\x09"s + size + smallest + largest + "\0\0\1"s);
  database.write("MANIFEST-000004", edits.log());
  database.write("000005.log", "");
  database.write("000009.sst", bytes);
  EXPECT_EQ(database.read(), Records());
  bytes[2] = static_cast<char>(bytes[2] ^ 1);
  database.write("000009.sst", bytes);
  const auto keys = list_keys(*open_database(database.folder()));
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_TRUE(keys[0].version.may_be_stale);
}

// A log that ends inside a record, and one whose numbers do not follow it.
class RecoveryModeTest : public ::testing::Test {
 protected:
  RecoveryModeTest() {
    leveldb_log::LogWriter first;
    first.append(batch(10, 1, put("a", "1")));
    first.append(batch(11, 1, put("b", "1")));
    const std::string bytes = first.log();
    database_.write("000005.log", bytes.substr(0, bytes.size() - 3));
    database_.write_log("000007.log", {batch(15, 1, put("c", "1"))});
  }
  // Returns the keys, and whether each may be stale, with a recovery mode.
  Records read(const std::string& mode) {
    database_.write("OPTIONS-000008", "[DBOptions]\n  wal_recovery_mode=" + mode + "\n");
    Records lines;
    for (const ListedKey& key : list_keys(*open_database(database_.folder()))) {
      lines.push_back(key.key + (key.version.may_be_stale ? " may be stale" : ""));
    }
    return lines;
  }

 private:
  LogDatabase database_;
};

TEST_F(RecoveryModeTest, OnlyModesThatTolerateTheEndReadOn) {
  EXPECT_EQ(read("kTolerateCorruptedTailRecords"), (Records{"a", "c"}));
  EXPECT_EQ(read("kSkipAnyCorruptedRecords"), (Records{"a", "c"}));
  EXPECT_EQ(read("kPointInTimeRecovery"), (Records{"a may be stale", "c"}));
  EXPECT_EQ(read("kAbsoluteConsistency"), (Records{"a may be stale", "c"}));
}

TEST(RangeDeletionTest, OneOfAnotherOrderThanTheKnownOneIsReported) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 2, put("b", "1") + delete_range_in(0, "c", "a"))});
  const auto log = Database::open_file({}, database.folder() + "/000005.log");
  ASSERT_TRUE(log);
  ASSERT_EQ((*log)->problems().size(), 1u);
  EXPECT_EQ((*log)->problems()[0].error.code, Code::kUnsupported);
  EXPECT_EQ((*log)->problems()[0].error.detail,
            "1 deletion of key ranges without effect, since the comparator is not known: deleted keys may appear");
  EXPECT_EQ(database.read(), Records{"b=1"});
}

TEST(RangeDeletionTest, OneInAnUnknownOrderMarksAllOlderValues) {
  const LogDatabase database("by length");
  database.write_log("000005.log", {batch(10, 3, put("a", "1") + delete_range_in(0, "b", "c") + put("d", "1")),
                                    batch(13, 1, put("e", "1"))});
  EXPECT_EQ(database.read(), (Records{"a=unsupported", "d=1", "e=1",
                                      ": 1 deletion of key ranges without effect, since the comparator is not known: "
                                      "deleted keys may appear"}));
}

TEST(RangeDeletionTest, EmptyRangeIsNotReported) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 2, put("b", "1") + delete_range_in(0, "b", "b"))});
  EXPECT_EQ(database.read(), Records{"b=1"});
}

TEST(RangeDeletionTest, LargeOnesInLogsExceedTheMemoryLimit) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 1, delete_range_in(0, "a", std::string(100, 'b')))});
  const std::string path = database.folder() + "/000005.log";
  EXPECT_TRUE(Database::open_file({}, path, {.log_key_bytes = 200}));
  const auto log = Database::open_file({}, path, {.log_key_bytes = 100});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Code::kLimit);
}

class SwitchedTimestampsTest : public ::testing::Test {
 protected:
  static constexpr std::string_view kTimed = "leveldb.BytewiseComparator.u64ts";
  // Says that tables have no timestamps.
  static inline const std::string kNotInTables = "\x89\x40\1\0"s;
  // Says how many bytes the timestamps of family 0 have.
  static std::string stated(char bytes) {
    return leveldb_log::fragment(10, little_endian(0, 4) + std::string{bytes, '\0'});
  }
  static std::string timed(const std::string& key) { return key + little_endian(7, 8); }
  void write_log(const std::string& head, const Records& batches) const {
    leveldb_log::LogWriter log;
    log.append_raw(head);
    for (const std::string& record : batches) log.append(record);
    database_.write("000005.log", log.log());
  }
  const LogDatabase& database() const { return database_; }

 private:
  const LogDatabase database_;
};

TEST_F(SwitchedTimestampsTest, KeysOfALogFromBeforeTheyWereEnabledHaveTimestamp0) {
  database().write_manifest(5, kNotInTables, std::string(kTimed));
  write_log("", {batch(10, 2, put("a-long-key", "1") + put("b", "2")),
                 batch(12, 2, put("c", "3") + delete_range_in(0, "b", "c"))});
  EXPECT_EQ(database().read(), (Records{"a-long-key=1", "c=3"}));
  const auto found = open_database(database().folder())->get({}, 0, as_bytes("c"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version.timestamp, 0u);
}

TEST_F(SwitchedTimestampsTest, KeysOfALogThatStatesThemKeepTheirs) {
  database().write_manifest(5, kNotInTables, std::string(kTimed));
  write_log(stated(8), {batch(10, 1, put(timed("a"), "1"))});
  EXPECT_EQ(database().read(), Records{"a=1"});
  EXPECT_EQ(open_database(database().folder())->get({}, 0, as_bytes("a"))->version.timestamp, 7u);
}

TEST_F(SwitchedTimestampsTest, KeysOfALogFromBeforeTheyWereDisabledHaveNone) {
  write_log(stated(8), {batch(10, 2, put(timed("a"), "1") + put(timed("b"), "2")),
                        batch(12, 2, put(timed("c"), "3") + delete_range_in(0, timed("b"), timed("c")))});
  EXPECT_EQ(database().read(), (Records{"a=1", "c=3"}));
  const auto only = open_database(database().folder(), {.only_keys = {"a"}});
  EXPECT_EQ(get(*only, "a"), "1");
}

TEST_F(SwitchedTimestampsTest, KeysOfADamagedLogThatStatesNoneAreLost) {
  database().write_manifest(5, kNotInTables, std::string(kTimed));
  std::string damaged = stated(8);
  damaged.back() ^= 1;
  write_log(damaged, {batch(10, 1, put(timed("a"), "1"))});
  const auto opened = open_database(database().folder());
  EXPECT_TRUE(list_keys(*opened).empty());
  EXPECT_EQ(get(*opened, "a"), to_string(Code::kDamage));
}

TEST_F(SwitchedTimestampsTest, KeysThatAreTooShortForTheStatedOnesAreLost) {
  write_log(stated(8), {batch(10, 2, put("short", "1") + put(timed("b"), "2"))});
  EXPECT_EQ(database().read(), (Records{"b=2", "000005.log: a key is shorter than its timestamp"}));
  EXPECT_EQ(get(*open_database(database().folder()), "short"), to_string(Code::kDamage));
}

TEST_F(SwitchedTimestampsTest, TimestampsOfAnotherSizeAreUnsupported) {
  write_log(stated(4), {batch(10, 2, put("a0000", "1") + put("b0000", "2"))});
  EXPECT_EQ(database().read(), Records{"000005.log: keys with timestamps of 4 bytes"});
  EXPECT_EQ(get(*open_database(database().folder()), "a"), to_string(Code::kUnsupported));
}

bool is_stale(const Database& database, std::string_view key) {
  const auto found = database.get({}, 0, as_bytes(key));
  EXPECT_TRUE(found);
  return found && found->version.may_be_stale;
}

TEST(LogProblemsTest, LossAfterManyHarmlessOnesIsNotForgotten) {
  constexpr int kHarmless = 66000;
  const LogDatabase database;
  leveldb_log::LogWriter log;
  log.append(batch(10, 1, put("k", "old")));
  for (int i = 0; i < kHarmless; ++i) {
    log.append_raw(std::string(8, '\0'));  // filling between records
    log.append(batch(static_cast<std::uint64_t>(11 + i), 1, put("f", "filler")));
  }
  std::string newer = leveldb_log::fragment(1, batch(kHarmless + 11, 1, put("k", "new")));
  newer.back() ^= 1;
  log.append_raw(newer);
  log.append(batch(kHarmless + 12, 1, put("z", "last")));
  database.write("000005.log", log.log());
  const auto opened = open_database(database.folder());
  EXPECT_TRUE(is_stale(*opened, "k"));
  EXPECT_FALSE(is_stale(*opened, "z"));
  EXPECT_TRUE(std::ranges::any_of(opened->problems(), &Problem::loses_data));
}

TEST(LogProblemsTest, LossAfterManyOthersIsNotForgotten) {
  constexpr int kLost = 66000;
  const LogDatabase database;
  leveldb_log::LogWriter log;
  std::vector<std::size_t> ends;  // of damaged records
  for (int i = 0; i < kLost; ++i) {
    const auto sequence = static_cast<std::uint64_t>(10 + 2 * i);
    log.append(batch(sequence, 1, put("k", "older")));
    log.append(batch(sequence + 1, 1, put("k", "newer")));
    ends.push_back(log.log().size());
  }
  log.append(batch(2 * kLost + 10, 1, put("z", "last")));
  std::string bytes = log.log();
  for (const std::size_t end : ends) bytes[end - 1] ^= 1;
  database.write("000005.log", bytes);
  const auto opened = open_database(database.folder());
  EXPECT_TRUE(is_stale(*opened, "k"));
}

TEST(DroppedFamilyTest, ItsWritesInALiveLogCostNothing) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 3, put("a", "1") + put_in(3, "a") + delete_range_in(3, "a", "b")),
                                    batch(13, 2, delete_range_in(0, "b", "c") + put_in(3, "c"))});
  EXPECT_EQ(database.read(), Records{"a=1"});
}

}  // namespace
}  // namespace recordfs::database
