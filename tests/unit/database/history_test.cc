// All stored versions of keys.
#include "tests/unit/database/reading.h"
#include "tests/unit/formats/leveldb_table/table_writer.h"

namespace recordfs::database {
namespace {

std::vector<std::string> history_of(const Database& database, std::string_view key, std::uint32_t family = 0) {
  const auto versions = database.history({}, family, as_bytes(key));
  EXPECT_TRUE(versions) << key;
  std::vector<std::string> texts;
  if (!versions) return texts;
  for (const Version& version : *versions) {
    texts.push_back(std::to_string(version.sequence) + " " + std::string(to_string(version.operation)));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(DatabaseHistoryTest, ListsVersionsOfLogAndTablesNewestFirst) {
  const auto database = open_database(kCorpus + "leveldb-levels");
  const auto versions = database->history({}, 0, as_bytes("key00000"));
  ASSERT_TRUE(versions);
  ASSERT_GE(versions->size(), 3u);
  EXPECT_TRUE(versions->front().file.ends_with(".log"));
  EXPECT_TRUE(versions->back().file.ends_with(".ldb"));
  for (std::size_t i = 1; i < versions->size(); ++i) EXPECT_LT((*versions)[i].sequence, (*versions)[i - 1].sequence);
}

TEST(DatabaseHistoryTest, ValueOfEachVersionIsFoundByItsSequence) {
  const auto database = open_database(kCorpus + "leveldb-levels");
  const auto versions = database->history({}, 0, as_bytes("key00000"));
  ASSERT_TRUE(versions);
  int number = 5;
  for (const Version& version : *versions) {
    const auto found = database->version({}, 0, as_bytes("key00000"), version.sequence);
    ASSERT_TRUE(found);
    const std::string text(as_text(found->value.bytes));
    EXPECT_TRUE(text.starts_with("value 0 of version ")) << text;
    EXPECT_LE(text.back() - '0', number);
    number = text.back() - '0';
    EXPECT_EQ(get(*database, "key00000", 0, version.sequence), text);
  }
}

TEST(DatabaseHistoryTest, DeletionsAreVersions) {
  const auto database = open_database(kCorpus + "leveldb-log-only");
  const Texts versions = history_of(*database, "dropped");
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_TRUE(versions[0].ends_with(" delete"));
  EXPECT_TRUE(versions[1].ends_with(" put"));
  EXPECT_EQ(get(*database, "dropped"), to_string(Code::kNotFound));
}

TEST(DatabaseHistoryTest, DeletionOfARangeIsAVersionOfItsKeys) {
  const auto database = open_database(kCorpus + "rocksdb7-range-deletions");
  const Texts versions = history_of(*database, "key00093");
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_TRUE(versions[0].ends_with(" delete_range"));
  EXPECT_EQ(get(*database, "key00093"), to_string(Code::kNotFound));
  EXPECT_EQ(history_of(*database, "key00096").size(), 1u);
}

TEST(DatabaseHistoryTest, KeysBeforeADeletionAreThoseOfThatSequence) {
  const auto database = open_database(kCorpus + "rocksdb7-range-deletions");
  const auto versions = database->history({}, 0, as_bytes("key00093"));
  ASSERT_TRUE(versions);
  EXPECT_EQ(get(*database, "key00093", 0, versions->front().sequence - 1), "value 93 of version 1");
  const auto before = list_keys(*database, 0, {.from = "key00090", .to = "key00095"}, versions->front().sequence - 1);
  EXPECT_EQ(before.size(), 5u);
  EXPECT_EQ(list_keys(*database, 0, {.from = "key00090", .to = "key00095"}).size(), 1u);
}

TEST(DatabaseHistoryTest, MergeOperandIsUnsupportedAsAValueAndReadableAsAVersion) {
  const auto database = open_database(kCorpus + "rocksdb7-merges");
  EXPECT_EQ(get(*database, "key00009"), to_string(Code::kUnsupported));
  const auto versions = database->history({}, 0, as_bytes("key00009"));
  ASSERT_TRUE(versions);
  EXPECT_EQ(versions->front().operation, Operation::kMerge);
  const auto operand = database->version({}, 0, as_bytes("key00009"), versions->front().sequence);
  ASSERT_TRUE(operand);
  EXPECT_EQ(as_text(operand->value.bytes), "alone");
  EXPECT_EQ(get(*database, "key00003"), "put after a merge");
}

using Columns = std::vector<std::pair<std::string, std::string>>;

Columns columns_of(const Database& database, std::string_view key) {
  const auto versions = database.history({}, 0, as_bytes(key));
  EXPECT_TRUE(versions) << key;
  if (!versions) return {};
  const auto columns = database.columns({}, 0, as_bytes(key), versions->front().sequence);
  EXPECT_TRUE(columns) << key;
  Columns texts;
  if (!columns) return texts;
  for (const Column& column : *columns) texts.emplace_back(column.name, as_text(column.value.bytes));
  return texts;
}

TEST(DatabaseHistoryTest, OperandsAreReturnedOldestFirstAfterTheValueBeforeThem) {
  const auto database = open_database(kCorpus + "rocksdb7-merges");
  const auto texts_of = [&](std::string_view key) {
    Texts texts;
    const auto operands = database->operands({}, 0, as_bytes(key));
    EXPECT_TRUE(operands) << key;
    if (!operands) return texts;
    for (const VersionedValue& each : *operands) texts.emplace_back(as_text(each.value.bytes));
    return texts;
  };
  EXPECT_EQ(texts_of("key00002"), (Texts{"value 2 of version 1", "again"}));
  EXPECT_EQ(texts_of("key00009"), Texts{"alone"});
  EXPECT_EQ(texts_of("key00003"), Texts{"put after a merge"});
  EXPECT_FALSE(database->operands({}, 0, as_bytes("no such key")));
}

std::vector<std::string> keys_of(const Database& database, const Snapshot& at = {}, const KeyRange& range = {}) {
  std::vector<std::string> keys;
  const auto iterator = database.keys(0, range, at);
  while (iterator->next({}).value_or(false)) keys.emplace_back(as_text(iterator->key()));
  return keys;
}

TEST(DatabaseHistoryTest, KeyWithTimestampsHasTheValueOfTheLargestOne) {
  const auto database = open_database(kCorpus + "rocksdb7-timestamps");
  EXPECT_TRUE(database->families().front().has_timestamps);
  EXPECT_EQ(get(*database, "key00001"), "value at 20");
  EXPECT_EQ(get(*database, "key00002"), to_string(Code::kNotFound));
  EXPECT_EQ(get(*database, "key00003"), "value at 30");
  EXPECT_EQ(get(*database, "key00008"), to_string(Code::kNotFound));
  for (const ListedKey& key : list_keys(*database)) EXPECT_EQ(get(*database, key.key), key.value) << key.key;
  EXPECT_EQ(keys_of(*database, {}, {.from = "key00003", .to = "key00006"}), (Texts{"key00003", "key00004"}));
  EXPECT_EQ(keys_of(*database, {}, {.prefix = "key0001"}), Texts{"key00010"});
}

TEST(DatabaseHistoryTest, StateAtATimestampHasNoLaterWrites) {
  const auto database = open_database(kCorpus + "rocksdb7-timestamps");
  const auto at = [](std::uint64_t timestamp) { return Snapshot(kNewest, timestamp); };
  const auto value = [&](std::string_view key, std::uint64_t timestamp) {
    const auto found = database->get({}, 0, as_bytes(key), at(timestamp));
    return found ? std::string(as_text(found->value.bytes)) : std::string(to_string(found.error().code));
  };
  EXPECT_EQ(value("key00003", 9), to_string(Code::kNotFound));
  EXPECT_EQ(value("key00003", 19), "value at 10");
  EXPECT_EQ(value("key00003", 20), "value at 20");
  EXPECT_EQ(value("key00003", 25), to_string(Code::kNotFound));
  EXPECT_EQ(value("key00003", 30), "value at 30");
  EXPECT_EQ(value("key00008", 49), "value at 10");
  EXPECT_EQ(value("key00008", 50), to_string(Code::kNotFound));
  EXPECT_EQ(keys_of(*database, at(9)), Texts());
  EXPECT_EQ(keys_of(*database, at(10)).size(), 10u);
  EXPECT_EQ(keys_of(*database, at(25)).size(), 8u);
  const auto plain = open_database(kCorpus + "rocksdb7-families");
  EXPECT_EQ(plain->get({}, 0, as_bytes("key00001"), at(5)).error().code, Code::kUnsupported);
}

TEST(DatabaseHistoryTest, VersionsHaveTheirTimestamps) {
  const auto database = open_database(kCorpus + "rocksdb7-timestamps");
  const auto versions = database->history({}, 0, as_bytes("key00003"));
  ASSERT_TRUE(versions);
  std::vector<std::uint64_t> timestamps;
  for (const Version& version : *versions) timestamps.push_back(version.timestamp.value_or(0));
  EXPECT_EQ(timestamps, (std::vector<std::uint64_t>{30, 25, 20, 10}));
  const auto found = database->version({}, 0, as_bytes("key00003"), (*versions)[2].sequence);
  ASSERT_TRUE(found);
  EXPECT_EQ(as_text(found->value.bytes), "value at 20");
}

TEST(DatabaseHistoryTest, TablesMayLackTheTimestampsThatLogsHave) {
  const auto database = open_database(kCorpus + "rocksdb11-timestamps-not-persisted");
  const auto keys = list_keys(*database);
  EXPECT_EQ(keys.size(), 48u);
  for (const ListedKey& key : keys) EXPECT_EQ(get(*database, key.key), key.value) << key.key;
  EXPECT_EQ(get(*database, "key00000"), "newer00000");
  EXPECT_EQ(get(*database, "key00030"), "inwal");
  EXPECT_EQ(get(*database, "key00020"), to_string(Code::kNotFound));
  EXPECT_EQ(get(*database, "key00031"), to_string(Code::kNotFound));
  const auto versions = database->history({}, 0, as_bytes("key00030"));
  ASSERT_TRUE(versions);
  ASSERT_EQ(versions->size(), 2u);
  EXPECT_EQ((*versions)[0].timestamp, 300u);
  EXPECT_EQ((*versions)[1].timestamp, std::nullopt);
  EXPECT_EQ((*versions)[1].operation, Operation::kPut);
}

TEST(DatabaseHistoryTest, OperatorsOfRocksDbMerge) {
  const auto database = open_database(kCorpus + "rocksdb7-merge-operators");
  constexpr std::uint32_t kAdd = 3;
  constexpr std::uint32_t kMax = 4;
  constexpr std::uint32_t kPut = 5;
  EXPECT_EQ(get(*database, "key00001"), "v101, andv7, andv21, andv300");
  EXPECT_EQ(get(*database, "key00001", 1), "v101:v7:v21:v300");
  EXPECT_EQ(get(*database, "key00001", 2), "v101v7v21v300");
  EXPECT_EQ(get(*database, "key00001", kAdd), std::string("\xad\1\0\0\0\0\0\0", 8));
  EXPECT_EQ(get(*database, "key00001", kMax), "v7");
  EXPECT_EQ(get(*database, "key00001", kPut), "v300");
  EXPECT_EQ(get(*database, "key00004", kPut), "v3");  // a deletion of a range is between the two operands
}

TEST(DatabaseHistoryTest, ValueOfAnEntityIsItsDefaultColumn) {
  const auto database = open_database(kCorpus + "rocksdb7-entities");
  EXPECT_EQ(get(*database, "key00001"), "default");
  EXPECT_EQ(get(*database, "key00002"), "");
  EXPECT_EQ(columns_of(*database, "key00001"), (Columns{{"", "default"}, {"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(columns_of(*database, "key00002"), (Columns{{"c", "3"}}));
  EXPECT_EQ(columns_of(*database, "key00000"), Columns());
}

TEST(DatabaseHistoryTest, SizeOfAnEntityIsThatOfItsDefaultColumn) {
  const auto database = open_database(kCorpus + "rocksdb7-entities");
  for (const ListedKey& key : list_keys(*database)) EXPECT_EQ(key.version.size, key.value.size()) << key.key;
  const auto versions = database->history({}, 0, as_bytes("key00001"));
  ASSERT_TRUE(versions);
  EXPECT_EQ(versions->front().operation, Operation::kPutEntity);
  EXPECT_EQ(versions->front().size, 7u);
}

TEST(DatabaseHistoryTest, OnlyCommittedTransactionsTakeEffect) {
  const auto database = open_database(kCorpus + "rocksdb7-transactions");
  EXPECT_EQ(get(*database, "key00001"), "of a transaction");
  EXPECT_EQ(get(*database, "key00002"), to_string(Code::kNotFound));
  EXPECT_EQ(get(*database, "key00003"), "value 3 of version 1");
  EXPECT_EQ(get(*database, "key00004"), "value 4 of version 1");
}

TEST(DatabaseHistoryTest, EntriesOfAnIngestedTableHaveTheNumberOfTheTable) {
  const auto database = open_database(kCorpus + "rocksdb7-external");
  const Texts versions = history_of(*database, "key00012");
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[0].substr(versions[0].find(' ')), " put");
  EXPECT_EQ(get(*database, "key00012"), "value 12 of version 8");
  EXPECT_EQ(get(*database, "key00011"), "value 11 of version 7");
}

TEST(DatabaseHistoryTest, DeletionOfARangeDoesNotHideAWriteWithItsOwnNumber) {
  const auto database = open_database(kCorpus + "rocksdb7-external-range-deletion");
  EXPECT_EQ(get(*database, "key00002"), "value 2 of version 2");
  EXPECT_EQ(get(*database, "key00003"), to_string(Code::kNotFound));
  EXPECT_EQ(get(*database, "key00004"), "value 4 of version 3");
  const auto versions = database->history({}, 0, as_bytes("key00002"));
  ASSERT_TRUE(versions);
  ASSERT_EQ(versions->size(), 3u);
  EXPECT_EQ((*versions)[0].operation, Operation::kPut);
  EXPECT_EQ((*versions)[1].operation, Operation::kDeleteRange);
  EXPECT_EQ((*versions)[0].sequence, (*versions)[1].sequence);
  const auto found = database->version({}, 0, as_bytes("key00002"), (*versions)[0].sequence);
  ASSERT_TRUE(found);
  EXPECT_EQ(as_text(found->value.bytes), "value 2 of version 2");
}

TEST(DatabaseHistoryTest, PrefixLimitsAnIteration) {
  const auto database = open_database(kCorpus + "rocksdb7-partitioned");
  const auto found = list_keys(*database, 0, {.prefix = "key0012"});
  ASSERT_FALSE(found.empty());
  for (const ListedKey& key : found) EXPECT_TRUE(key.key.starts_with("key0012"));
  EXPECT_TRUE(list_keys(*database, 0, {.prefix = "nothing"}).empty());
}

TEST(DatabaseHistoryTest, KeysOfAReverseComparatorComeInItsOrder) {
  const auto database = open_database(kCorpus + "rocksdb7-reverse");
  const auto found = list_keys(*database, 0, {.from = "key00010", .to = "key00004"});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().key, "key00010");
  EXPECT_EQ(found.back().key, "key00005");
}

TEST(DatabaseHistoryTest, VersionsWithOneNumberAndSeveralTimestampsAreAllListed) {
  const auto stored = [](char timestamp) {
    return leveldb_table::internal_key(std::string("a") + timestamp + std::string(7, '\0'), 0, 1);
  };
  leveldb_table::TableWriter table;
  table.add({{stored(2), "new"}, {stored(1), "old"}});
  const testing::TempFolder folder;
  const std::string path = folder.path() + "/000005.sst";
  std::ofstream(path, std::ios::binary) << table.finish_rocksdb(
      {{"rocksdb.comparator", "leveldb.BytewiseComparator.u64ts"}});
  const auto database = Database::open_file({}, path);
  ASSERT_TRUE(database);
  EXPECT_EQ(history_of(**database, "a"), (Texts{"0 put", "0 put"}));
}

}  // namespace
}  // namespace recordfs::database
