#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/api/recordfs.h"
#include "tests/unit/database/log_database.h"
#include "tests/unit/support/read_file.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

constexpr const char* kLevels = "tests/corpus/database/leveldb-levels";

struct CloseDatabase {
  void operator()(recordfs_database* database) const { recordfs_database_close(database); }
  void operator()(recordfs_keys* keys) const { recordfs_keys_close(keys); }
};
using Database = std::unique_ptr<recordfs_database, CloseDatabase>;

Database open_database(const std::string& path) {
  recordfs_database* database = nullptr;
  EXPECT_EQ(recordfs_database_open(path.c_str(), nullptr, &database), RECORDFS_OK) << recordfs_last_error()->message;
  return Database(database);
}

struct Found {
  recordfs_status status = RECORDFS_OK;
  std::string value{};
};

Found get(const Database& database, std::string_view key, const char* family = nullptr) {
  recordfs_bytes* bytes = nullptr;
  Found found{.status = recordfs_database_get(database.get(), family, key.data(), key.size(), &bytes)};
  if (bytes != nullptr) found.value.assign(static_cast<const char*>(bytes->data), bytes->size);
  recordfs_bytes_free(bytes);
  return found;
}

struct IteratedKeys {
  std::vector<std::string> keys{};
  std::vector<std::string> failures{};
  std::size_t stale = 0;
  std::size_t without_value = 0;
};

IteratedKeys iterate_keys(const Database& database, std::string_view prefix = {}) {
  IteratedKeys result;
  recordfs_keys* opened = nullptr;
  EXPECT_EQ(recordfs_keys_open(database.get(), nullptr, prefix.data(), prefix.size(), &opened), RECORDFS_OK);
  const std::unique_ptr<recordfs_keys, CloseDatabase> keys(opened);
  for (;;) {
    const recordfs_entry* entry = nullptr;
    const recordfs_status status = recordfs_keys_next(keys.get(), &entry);
    if (status == RECORDFS_END) return result;
    if (status != RECORDFS_OK) result.failures.emplace_back(recordfs_last_error()->message);
    if (status != RECORDFS_OK && recordfs_last_error()->can_continue == 0) return result;
    if (entry == nullptr) continue;
    result.keys.emplace_back(static_cast<const char*>(entry->key), entry->key_size);
    if (entry->may_be_stale != 0) ++result.stale;
    if (entry->value == nullptr) ++result.without_value;
    EXPECT_EQ(entry->value == nullptr, status != RECORDFS_OK);
  }
}

TEST(DatabaseInC, KeysHaveTheirNewestValues) {
  const Database database = open_database(kLevels);
  EXPECT_EQ(get(database, "key00000").value, "value 0 of version 5");
  EXPECT_EQ(get(database, "no such key").status, RECORDFS_NOT_FOUND);
  const IteratedKeys all = iterate_keys(database);
  EXPECT_EQ(all.keys.size(), 119u);
  EXPECT_TRUE(all.failures.empty());
  EXPECT_EQ(iterate_keys(database, "key00018").keys, (std::vector<std::string>{"key00018"}));
}

TEST(DatabaseInC, FamiliesAreChosenByName) {
  const Database database = open_database("tests/corpus/database/rocksdb7-families");
  recordfs_keys* keys = nullptr;
  EXPECT_EQ(recordfs_keys_open(database.get(), "no such family", nullptr, 0, &keys), RECORDFS_NOT_FOUND);
  EXPECT_EQ(keys, nullptr);
  EXPECT_NE(std::string_view(recordfs_last_error()->message).find("default"), std::string_view::npos);
  ASSERT_EQ(recordfs_keys_open(database.get(), "default", nullptr, 0, &keys), RECORDFS_OK);
  recordfs_keys_close(keys);
}

TEST(DatabaseInC, NameOfAFamilyIsTriedBeforeItsNumber) {
  const database::LogDatabase files;
  files.write_manifest(5, "", "leveldb.BytewiseComparator",
                       {database::add_family(1, "b"), database::add_family(2, "1")});
  files.write_log("000005.log", {database::batch(1, 2, database::put_in(1, "in b") + database::put_in(2, "in 1"))});
  const Database opened = open_database(files.folder());
  EXPECT_EQ(get(opened, "in 1", "1").value, "v");
  EXPECT_EQ(get(opened, "in b", "1").status, RECORDFS_NOT_FOUND);
  EXPECT_EQ(get(opened, "in b", "b").value, "v");
  EXPECT_EQ(get(opened, "in 1", "2").value, "v");
  recordfs_keys* keys = nullptr;
  ASSERT_EQ(recordfs_keys_open(opened.get(), "1", nullptr, 0, &keys), RECORDFS_OK);
  const std::unique_ptr<recordfs_keys, CloseDatabase> closed_later(keys);
  const recordfs_entry* entry = nullptr;
  ASSERT_EQ(recordfs_keys_next(keys, &entry), RECORDFS_OK);
  EXPECT_EQ(std::string_view(static_cast<const char*>(entry->key), entry->key_size), "in 1");
}

TEST(DatabaseInC, ValueThatNeedsAnUnknownOperatorIsAnErrorOfItsKeyAlone) {
  const IteratedKeys read = iterate_keys(open_database("tests/corpus/database/rocksdb7-merge-operators"));
  EXPECT_EQ(read.failures.size(), read.without_value);
  EXPECT_GT(read.keys.size(), read.without_value);
}

TEST(DatabaseInC, WhatDamageMayHaveCostIsNeverSilent) {
  const TempFolder folder;
  std::filesystem::copy(kLevels, folder.path(), std::filesystem::copy_options::recursive);
  const std::string table = (folder / "000010.ldb").string();
  std::string bytes = testing::read_file(table);
  bytes[bytes.size() - 1] ^= 1;  // the table's magic number
  bytes[10] ^= 1;
  folder.write("000010.ldb", bytes);
  const Database database = open_database(folder.path());
  const IteratedKeys read = iterate_keys(database);
  ASSERT_EQ(read.failures.size(), 1u);
  EXPECT_NE(read.failures.front().find("may be lost"), std::string::npos) << read.failures.front();
  EXPECT_GT(read.stale, 0u);
  std::size_t refused = 0;
  for (const std::string& key : read.keys) refused += get(database, key).status == RECORDFS_DAMAGE ? 1 : 0;
  EXPECT_EQ(refused, read.stale);
}

TEST(DatabaseInC, EntityWithSeveralColumnsIsUnsupported) {
  const Database database = open_database("tests/corpus/database/rocksdb7-entities");
  const IteratedKeys read = iterate_keys(database);
  std::size_t refused = 0;
  for (const std::string& key : read.keys) refused += get(database, key).status == RECORDFS_UNSUPPORTED ? 1 : 0;
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(refused, read.without_value);
  EXPECT_EQ(refused, read.failures.size());
}

TEST(DatabaseInC, PathsWithoutADatabaseFail) {
  recordfs_database* database = nullptr;
  EXPECT_EQ(recordfs_database_open("tests/unit", nullptr, &database), RECORDFS_NO_CONTAINER);
  EXPECT_EQ(recordfs_database_open("no such directory", nullptr, &database), RECORDFS_IO);
  EXPECT_EQ(recordfs_database_open("", nullptr, &database), RECORDFS_MISUSE);
  EXPECT_EQ(database, nullptr);
}

TEST(DatabaseInC, KeyThatIsNullHasNoBytes) {
  const Database database = open_database(kLevels);
  recordfs_bytes* value = nullptr;
  EXPECT_EQ(recordfs_database_get(database.get(), nullptr, nullptr, 5, &value), RECORDFS_MISUSE);
  EXPECT_EQ(recordfs_database_get(database.get(), nullptr, nullptr, 0, &value), RECORDFS_NOT_FOUND);
  recordfs_keys* keys = nullptr;
  EXPECT_EQ(recordfs_keys_open(database.get(), nullptr, nullptr, 3, &keys), RECORDFS_MISUSE);
  EXPECT_EQ(recordfs_keys_open(database.get(), nullptr, nullptr, 0, &keys), RECORDFS_OK);
  recordfs_keys_close(keys);
}

}  // namespace
}  // namespace recordfs::testing
