// Logs and tables that are read together without their MANIFEST.
#include "tests/unit/database/reading.h"

namespace recordfs::database {
namespace {

const std::vector<std::string> kTables = {"000005.ldb", "000007.ldb", "000010.ldb", "000013.ldb"};

void expect_same_keys(const Database& found, const Database& wanted) {
  const auto keys = list_keys(found);
  const auto wanted_keys = list_keys(wanted);
  ASSERT_EQ(keys.size(), wanted_keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i].key, wanted_keys[i].key);
    EXPECT_EQ(keys[i].value, wanted_keys[i].value);
    EXPECT_EQ(keys[i].version.sequence, wanted_keys[i].version.sequence);
  }
}

TEST(DatabaseFilesTest, AllTablesAndLogsTogetherAreTheDatabase) {
  const std::string folder = kCorpus + "leveldb-levels";
  std::vector<std::string> names = kTables;
  names.emplace_back("000014.log");
  const auto files = Database::open_files({}, folder, names);
  ASSERT_TRUE(files) << to_string(files.error());
  expect_same_keys(**files, *open_database(folder));
}

TEST(DatabaseFilesTest, FilesMayHaveAnyNamesInSeveralFolders) {
  const Copy copy("leveldb-levels");
  std::vector<std::string> names;
  for (const std::string& table : kTables) {
    names.push_back("table-" + table + "/data");
    std::filesystem::create_directory(copy.path("table-" + table));
    std::filesystem::rename(copy.path(table), copy.path(names.back()));
  }
  names.emplace_back("000014.log");
  const auto files = Database::open_files({}, copy.folder(), names);
  ASSERT_TRUE(files) << to_string(files.error());
  expect_same_keys(**files, *open_database(kCorpus + "leveldb-levels"));
}

TEST(DatabaseFilesTest, KeysOfOtherFilesOfTheFolderAreAbsent) {
  const auto files = Database::open_files({}, kCorpus + "leveldb-levels", {"000013.ldb"});
  const auto file = Database::open_file({}, kCorpus + "leveldb-levels/000013.ldb");
  ASSERT_TRUE(files && file);
  expect_same_keys(**files, **file);
  EXPECT_LT(list_keys(**files).size(), list_keys(*open_database(kCorpus + "leveldb-levels")).size());
}

TEST(DatabaseFilesTest, FileOfAnotherKindIsNamed) {
  const auto files = Database::open_files({}, kCorpus + "leveldb-levels", {"000013.ldb", "CURRENT"});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, Code::kNoContainer);
  EXPECT_TRUE(files.error().detail.starts_with("CURRENT: ")) << files.error().detail;
}

}  // namespace
}  // namespace recordfs::database
