// MANIFESTs that lost their last edits, and logs that are gone.
#include "tests/unit/database/log_database.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"

namespace recordfs::database {
namespace {

TEST(LostEditsTest, TableWithNewerWritesThanTheLogsWasNamedByThem) {
  const auto problems_with_table_of = [](std::uint64_t sequence) {
    const LogDatabase database;
    database.write("OPTIONS-000007", "[DBOptions]\n");
    database.write_log("000006.log", {batch(10, 2, put("a", "1") + put("b", "1"))});
    leveldb_table::TableWriter table;
    table.add({{leveldb_table::internal_key("c", sequence, 1), "1"}});
    database.write("000009.sst", table.finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator"}}));
    return database.read();
  };
  EXPECT_EQ(problems_with_table_of(11), (Records{"a=1", "b=1"}));  // it was being made of the log
  const Records lines = problems_with_table_of(12);
  EXPECT_EQ(std::ranges::count(lines, "c=1"), 1);
  EXPECT_EQ(std::ranges::count(lines, "MANIFEST-000004: the MANIFEST has lost its last edits"), 1);
}

TEST(LostEditsTest, TheyAreFoundAlthoughADamagedLogLooksLikeOneInUse) {
  const LogDatabase database;
  database.write("OPTIONS-000007", "[DBOptions]\n  wal_recovery_mode=kAbsoluteConsistency\n");
  database.write("000006.log", cut_log(10));
  leveldb_table::TableWriter table;
  table.add({{leveldb_table::internal_key("c", 12, 1), "1"}});
  database.write("000009.sst", table.finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator"}}));
  EXPECT_EQ(std::ranges::count(database.read(), "MANIFEST-000004: the MANIFEST has lost its last edits"), 1);
}

TEST(LostEditsTest, TableThatIsNewerThanThoseOfATornManifestWasNamedByThem) {
  const auto problems_with_end = [](const std::string& end) {
    const LogDatabase database;
    database.append("MANIFEST-000004", end);
    database.write("OPTIONS-000007", "[DBOptions]\n");
    database.write_log("000005.log", {batch(10, 1, put("a", "1"))});
    leveldb_table::TableWriter table;
    table.add({{leveldb_table::internal_key("c", 0, 1), "1"}});
    database.write("000009.sst", table.finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator"},
                                                       {"rocksdb.external_sst_file.version", "\2\0\0\0"s}}));
    return database.read();
  };
  const std::string torn = leveldb_log::fragment(1, std::string(20, 'x')).substr(0, 20);
  EXPECT_EQ(problems_with_end(""), Records{"a=1"});  // the database was killed
  const Records lines = problems_with_end(torn);
  EXPECT_EQ(std::ranges::count(lines, "c=1"), 1);
  EXPECT_EQ(std::ranges::count(lines, "MANIFEST-000004: the MANIFEST has lost its last edits"), 1);
}

TEST(LostEditsTest, FamilyThatOnlyLogsHaveIsOrderedAsOptionsSaysOfTheOneLeft) {
  const LogDatabase database;
  database.write("CURRENT", "MANIFEST-000009\n");
  std::filesystem::remove(database.folder() + "/MANIFEST-000004");
  database.write("OPTIONS-000007",
                 "[DBOptions]\n[CFOptions \"default\"]\n  comparator=leveldb.BytewiseComparator\n"
                 "[CFOptions \"other\"]\n  comparator=rocksdb.ReverseBytewiseComparator\n");
  database.write_log("000005.log", {batch(10, 2, put_in(3, "a") + put_in(3, "b"))});
  const auto opened = open_database(database.folder());
  const auto keys = list_keys(*opened, 3);
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].key, "b");
}

TEST(LostEditsTest, FirstTableOfALevelDbThatReusesLogsMayBeUnnamed) {
  const LogDatabase database;
  leveldb_log::LogWriter manifest;
  manifest.append("\1"s + text_field("leveldb.BytewiseComparator") + "\2\0\3\2\4\0"s);
  database.write("MANIFEST-000004", manifest.log());
  database.write_log("000003.log", {batch(1, 2, put("a", "1") + put("b", "1"))});
  database.write_log("000005.log", {batch(3, 1, put("c", "1"))});
  leveldb_table::TableWriter table;
  table.add({{leveldb_table::internal_key("a", 1, 1), "1"}, {leveldb_table::internal_key("b", 2, 1), "1"}});
  database.write("000006.ldb", table.finish());
  EXPECT_EQ(database.read(), (Records{"a=1", "b=1", "c=1"}));
}

TEST(LostEditsTest, TableWithNewWritesWithoutTheFirstLogWasNamedByThem) {
  const auto problems_with_log = [](const std::string& name, char least_log = 0) {
    const LogDatabase database;
    if (least_log != 0) database.append("MANIFEST-000004", leveldb_log::fragment(1, std::string{'\x0a', least_log}));
    database.write("OPTIONS-000007", "[DBOptions]\n");
    database.write(name, "");
    leveldb_table::TableWriter table;
    table.add({{leveldb_table::internal_key("c", 10, 1), "1"}});
    database.write("000009.sst", table.finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator"}}));
    return database.read();
  };
  EXPECT_EQ(problems_with_log("000005.log"), Records());  // it was being made, of writes without a log
  EXPECT_EQ(problems_with_log("000008.log", 8), Records());
  EXPECT_EQ(std::ranges::count(problems_with_log("000010.log"), "c=1"), 1);
}

TEST(LostEditsTest, FirstTableOfARocksDbMayHaveWritesThatAreInNoLog) {
  const auto problems_with_log = [](const std::string& name) {
    const LogDatabase database;
    leveldb_log::LogWriter manifest;
    manifest.append("\1"s + text_field("leveldb.BytewiseComparator") + "\2\0\3\x08\4\0"s);
    database.write("MANIFEST-000004", manifest.log());
    database.write("OPTIONS-000007", "[DBOptions]\n");
    database.write_log(name, {batch(1, 1, put("a", "1"))});
    leveldb_table::TableWriter table;
    table.add({{leveldb_table::internal_key("c", 10, 1), "1"}});
    database.write("000010.sst", table.finish_rocksdb({{"rocksdb.comparator", "leveldb.BytewiseComparator"}}));
    return database.read();
  };
  EXPECT_EQ(problems_with_log("000005.log"), Records{"a=1"});
  EXPECT_EQ(std::ranges::count(problems_with_log("000009.log"), "c=1"), 1);
}

TEST(LostEditsTest, NewBlobFileBesideATornManifestWasNamedByThem) {
  const LogDatabase database;
  database.write_log("000005.log", {batch(10, 1, put("a", "1"))});
  database.write("000040.blob", "");
  EXPECT_EQ(database.read(), Records{"a=1"});
  database.append("MANIFEST-000004", leveldb_log::fragment(1, std::string(20, 'x')).substr(0, 20));
  EXPECT_EQ(std::ranges::count(database.read(), "MANIFEST-000004: the MANIFEST has lost its last edits"), 1);
}

TEST(MissingLogTest, GapIsALossOnlyWhereALogMayHaveBeen) {
  const auto read_with = [](const std::string& second, const std::string& other) {
    const LogDatabase database;
    database.write("OPTIONS-000007", "[DBOptions]\n");
    database.write_log("000005.log", {batch(10, 1, put("a", "1"))});
    database.write_log(second, {batch(15, 1, put("b", "1"))});
    database.write(other, "");
    return database.read();
  };
  const Records intact = {"a=1", "b=1"}, lost = {"a=1", "b=1", "000009.log: the writes 11 to 14 are in no log"};
  EXPECT_EQ(read_with("000006.log", "LOCK"), intact);  // they were written without a log
  EXPECT_EQ(read_with("000008.log", "LOCK"), intact);  // 6 and 7 are those of OPTIONS
  EXPECT_EQ(read_with("000009.log", "LOCK"), lost);
  EXPECT_EQ(read_with("000009.log", "000008.sst"), intact);
  EXPECT_EQ(read_with("000009.log", "000010.sst"), lost);
}

TEST(MissingLogTest, LogOfTheTimeOfTheLastEditMustExist) {
  const auto read_with = [](const std::string& first, std::uint64_t sequence) {
    const LogDatabase database;
    database.write_log(first, {batch(sequence, 1, put("b", "1"))});
    return database.read();
  };
  EXPECT_EQ(read_with("000032.log", 15), Records{"b=1"});
  EXPECT_EQ(read_with("000033.log", 15), (Records{"b=1", "000033.log: the writes 10 to 14 are in no log"}));
  EXPECT_EQ(read_with("000033.log", 10), Records{"b=1"});
}

TEST(MissingLogTest, LogBeforeThoseOfAnEarlierUseMustExist) {
  const LogDatabase database;
  std::filesystem::rename(database.folder() + "/MANIFEST-000004", database.folder() + "/MANIFEST-000030");
  database.write("CURRENT", "MANIFEST-000030\n");
  database.write_log("000010.log", {batch(15, 1, put("b", "1"))});
  EXPECT_EQ(database.read(), Records{"b=1"});  // it is the log of the present use
  database.write_log("000020.log", {batch(16, 1, put("c", "1"))});
  EXPECT_EQ(database.read(), (Records{"b=1", "c=1", "000010.log: the writes 10 to 14 are in no log"}));
}

}  // namespace
}  // namespace recordfs::database
