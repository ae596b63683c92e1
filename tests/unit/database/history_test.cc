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
