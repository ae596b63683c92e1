// Databases with files in several directories, and logs that must exist.
#include "tests/unit/database/reading.h"

namespace recordfs::database {
namespace {

namespace fs = std::filesystem;

// A database whose log is in another directory, which its OPTIONS file names.
class WalDirectoryTest : public ::testing::Test {
 protected:
  static constexpr std::string_view kSample = "rocksdb7-families";

  WalDirectoryTest() : intact_(open_database(kCorpus + std::string(kSample))) {
    fs::create_directory(wal());
    for (const File& file : intact_->files()) {
      if (file.kind == FileKind::kLog) logs_.push_back(file.name);
    }
    for (const std::string& log : logs_) fs::rename(copy_.path(log), wal() + "/" + log);
  }

  std::string wal() const { return copy_.folder() + ".wal"; }
  void name_wal(const std::string& path) const {
    copy_.write("OPTIONS-999999", "[DBOptions]\n  wal_dir=" + path + "\n");
  }
  void expect_whole(const Database& found) const {
    for (const Family& family : intact_->families()) {
      EXPECT_EQ(list_keys(found, family.id).size(), list_keys(*intact_, family.id).size());
    }
    EXPECT_TRUE(found.problems().empty());
  }

  const Copy copy_{std::string(kSample)};
  const std::unique_ptr<const Database> intact_;
  std::vector<std::string> logs_;
};

TEST_F(WalDirectoryTest, StatedDirectoryHasTheLogs) {
  name_wal(wal());
  expect_whole(*open_database(copy_.folder()));
}

TEST_F(WalDirectoryTest, DirectoryOfThatNameBesideTheDatabaseHasTheLogs) {
  name_wal("/no/such/place/copy.wal");
  expect_whole(*open_database(copy_.folder()));
}

TEST_F(WalDirectoryTest, GivenDirectoryHasTheLogs) {
  const auto found = open_database(copy_.folder(), {.wal_directory = wal()});
  expect_whole(*found);
}

TEST_F(WalDirectoryTest, DirectoryThatDoesNotExistIsALoss) {
  name_wal("/no/such/place/elsewhere");
  const auto database = open_database(copy_.folder());
  ASSERT_EQ(database->problems().size(), 1u);
  EXPECT_EQ(database->problems().front().error.code, Code::kNotFound);
  EXPECT_TRUE(database->problems().front().loses_data);
  const auto keys = list_keys(*database);
  EXPECT_TRUE(std::ranges::all_of(keys, [](const ListedKey& key) { return key.version.may_be_stale; }));
}

TEST_F(WalDirectoryTest, OwnDirectoryUnderAnOldNameIsNoOther) {
  for (const std::string& log : logs_) fs::rename(wal() + "/" + log, copy_.path(log));
  name_wal("/no/such/place/elsewhere");
  expect_whole(*open_database(copy_.folder()));
}

TEST(TableDirectoriesTest, TablesMayBeInFurtherDirectories) {
  const Copy copy("leveldb-levels");
  const std::string second = copy.folder() + ".second";
  fs::create_directory(second);
  fs::rename(copy.path("000005.ldb"), second + "/000005.ldb");
  const auto intact = list_keys(*open_database(kCorpus + "leveldb-levels"));
  const auto database = open_database(copy.folder(), {.table_directories = {second}});
  EXPECT_TRUE(database->problems().empty());
  EXPECT_EQ(list_keys(*database).size(), intact.size());
}

}  // namespace
}  // namespace recordfs::database
