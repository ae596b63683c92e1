// A directory whose files change while it is read.
#include <map>
#include <set>

#include "tests/unit/database/reading.h"

namespace recordfs::database {
namespace {

namespace fs = std::filesystem;

void replace(const Copy& copy, const std::string& sample) {
  for (const auto& entry : fs::directory_iterator(copy.folder())) fs::remove(entry.path());
  for (const auto& entry : fs::directory_iterator(kCorpus + sample)) {
    fs::copy(entry.path(), copy.path(entry.path().filename().string()));
  }
}

Options without_pinned_files() {
  Options options;
  options.pinned_files = 0;
  options.open_files = 1;
  return options;
}

TEST(LiveDatabaseTest, AnswersAreOfOneMomentThoughFilesAreReplaced) {
  const Copy copy("leveldb-levels");
  const auto database = open_database(copy.folder());
  const auto before = list_keys(*open_database(copy.folder()));
  replace(copy, "leveldb-log-only");
  const auto after = list_keys(*database);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].value, before[i].value);
  EXPECT_EQ(get(*database, before[100].key), before[100].value);
}

TEST(LiveDatabaseTest, FilesReplacedBeforeTheFirstAnswerGiveTheNewState) {
  const Copy copy("leveldb-levels");
  const auto database = open_database(copy.folder(), without_pinned_files());
  replace(copy, "leveldb-log-only");
  EXPECT_EQ(list_keys(*database).size(), list_keys(*open_database(kCorpus + "leveldb-log-only")).size());
}

TEST(LiveDatabaseTest, FilesReplacedAfterTheFirstAnswerFail) {
  const Copy copy("leveldb-levels");
  const auto database = open_database(copy.folder(), without_pinned_files());
  const auto keys = database->keys(0, {});
  ASSERT_TRUE(keys->next({}).value());
  replace(copy, "leveldb-log-only");
  Result<bool> next = true;
  while (next && *next) next = keys->next({});
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Code::kChanged);
  EXPECT_EQ(get(*database, "key00100"), to_string(Code::kChanged));
}

TEST(LiveDatabaseTest, LookupsMayFollowChanges) {
  const Copy copy("leveldb-levels");
  Options options = without_pinned_files();
  options.follows_changes = true;
  const auto database = open_database(copy.folder(), options);
  EXPECT_NE(get(*database, "key00100"), to_string(Code::kNotFound));
  replace(copy, "leveldb-log-only");
  EXPECT_EQ(get(*database, "key00100"), to_string(Code::kNotFound));  // was in a table, which is gone
  EXPECT_EQ(get(*database, "key00000"), "value 0 of version 2");
}

TEST(LiveDatabaseTest, LookupThatNeedsNoRemovedFileAnswersFromItsState) {
  const Copy copy("leveldb-levels");
  const auto database = open_database(copy.folder(), without_pinned_files());
  const std::string before = get(*database, "key00000");
  replace(copy, "leveldb-log-only");
  EXPECT_EQ(get(*database, "key00000"), before);  // in the logs, which are in memory
  EXPECT_EQ(get(*database, "key00100"), to_string(Code::kChanged));
}

// For example, a link to a file that other users cannot read.
TEST(LiveDatabaseTest, NewFilesThatAreNotAdmittedAreNotRead) {
  const Copy copy("leveldb-levels");
  bool admits = true;
  Options options = without_pinned_files();
  options.follows_changes = true;
  options.admits = [&admits](const struct stat&) { return admits; };
  const auto database = open_database(copy.folder(), options);
  EXPECT_NE(get(*database, "key00100"), to_string(Code::kNotFound));
  replace(copy, "leveldb-log-only");
  admits = false;
  EXPECT_EQ(get(*database, "key00100"), to_string(Code::kIo));
}

TEST(LiveDatabaseTest, ValueOfTheCurrentKeyIsReadableAfterItsBlobFileIsRemoved) {
  const Copy copy("rocksdb7-blobs");
  const auto database = open_database(copy.folder());
  const auto intact = list_keys(*open_database(kCorpus + "rocksdb7-blobs"));
  const auto keys = database->keys(0, {});
  ASSERT_TRUE(keys->next({}).value());
  ASSERT_TRUE(keys->version().is_in_blob_file);
  copy.remove("000010.blob");
  copy.remove("000013.blob");
  EXPECT_EQ(text_of(keys->value({})), intact.front().value);
}

TEST(LiveDatabaseTest, RefreshTakesTheWritesSinceOpen) {
  const Copy copy("leveldb-log-only");
  const std::string log = copy.read("000003.log");
  copy.write("000003.log", log.substr(0, log.size() / 2));
  const auto database = open_database(copy.folder());
  const std::size_t before = list_keys(*database).size();
  copy.write("000003.log", log);
  ASSERT_TRUE(database->refresh({}));
  EXPECT_GT(list_keys(*database).size(), before);
}

TEST(LiveDatabaseTest, NothingIsWrittenToTheDirectory) {
  const Copy copy("leveldb-levels");
  const auto names = [&] {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(copy.folder())) all.insert(entry.path().filename().string());
    return all;
  };
  const auto before = names();
  list_keys(*open_database(copy.folder()));
  EXPECT_EQ(names(), before);
}

TEST(LiveDatabaseTest, FilesOfTheDirectoryHaveTheirState) {
  const auto database = open_database(kCorpus + "leveldb-levels");
  std::map<std::string, File::State> states;
  for (const File& file : database->files()) states[file.name] = file.state;
  EXPECT_EQ(states.at("CURRENT"), File::State::kLive);
  EXPECT_EQ(states.at("MANIFEST-000012"), File::State::kLive);
  EXPECT_EQ(states.at("000005.ldb"), File::State::kLive);
  EXPECT_EQ(states.at("000014.log"), File::State::kLive);
}

}  // namespace
}  // namespace recordfs::database
