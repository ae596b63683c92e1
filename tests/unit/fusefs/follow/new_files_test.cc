// Files that appear while they are looked for. The tests choose the time.
#include "fusefs/follow/new_files.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

// Files that begin with "container" are containers; "unreadable" ones fail.
class NewFilesTest : public ::testing::Test {
 protected:
  NewFilesTest() : top_(fs::canonical(folder.path()).string() + "/") {}

  Result<bool> is_container(const std::string& path) {
    ++opened[path.substr(top_.size())];
    std::string word;
    std::ifstream(path) >> word;
    if (word == "unreadable") return Error{.code = Code::kIo, .detail = "Permission denied"};
    return word == "container";
  }

  void add(const Texts& names, std::string_view content = "container") const {
    for (const std::string& name : names) folder.write(name, content);
  }
  // Begins with the files that the words mean now.
  void begin(const Texts& words) {
    Texts paths;
    for (const std::string& word : words) paths.push_back(top_ + word);
    const auto is_container = [this](const std::string& path) { return this->is_container(path); };
    auto list = list_shards(paths, is_container);
    ASSERT_TRUE(list) << list.error().detail;
    for (Shard& shard : list->shards) shard.is_missing = !fs::exists(shard.path);
    files =
        std::make_unique<NewFiles>(paths, *list, is_container, [this](const std::string& path, const std::string& why) {
          reports.push_back(path.substr(top_.size()) + ": " + why);
        });
    opened.clear();
  }
  // Returns the names of new files, with "<" before those that a new list would have before others.
  Texts look(std::chrono::seconds later = {}) {
    now_ += later;
    Texts names;
    for (const NewFile& file : files->look({}, now_)) {
      names.push_back((file.is_before_others ? "<" : "") + file.path.substr(top_.size()));
    }
    return names;
  }
  // Returns what is new after the files have not changed for long enough.
  Texts settled() {
    const Texts at_once = look(1s);
    EXPECT_EQ(at_once, Texts{});
    return look(2s);
  }
  Texts below(const Texts& paths) const {
    Texts names;
    for (const std::string& path : paths) names.push_back(path.size() < top_.size() ? "." : path.substr(top_.size()));
    return names;
  }

  const TempFolder folder;
  std::map<std::string, int> opened;
  Texts reports;
  std::unique_ptr<NewFiles> files;

 private:
  const std::string top_;
  NewFiles::Clock::time_point now_ = NewFiles::Clock::now();
};

TEST_F(NewFilesTest, ContainersAreReturnedOnceInNaturalOrder) {
  add({"d/a1"});
  begin({"d"});
  EXPECT_EQ(settled(), Texts{});
  add({"d/a10", "d/a9", "d/.hidden", "d/sub/a11"});
  add({"d/note"}, "text");
  EXPECT_EQ(settled(), (Texts{"d/a9", "d/a10"}));
  EXPECT_EQ(look(10s), Texts{});
  EXPECT_EQ(opened.count("d/a1"), 0u);
  EXPECT_EQ(reports, Texts{});
}

TEST_F(NewFilesTest, FileThatChangesIsNotReturnedUntilItNoLongerDoes) {
  add({"d/a1"});
  begin({"d"});
  add({"d/a2"}, "container 1");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(look(1s), Texts{});
    EXPECT_EQ(look(1s), Texts{});
    std::ofstream(folder / "d/a2", std::ios::app) << i;
  }
  EXPECT_EQ(opened.count("d/a2"), 0u);
  EXPECT_EQ(settled(), Texts{"d/a2"});
}

TEST_F(NewFilesTest, FileThatBecomesAContainerIsReturned) {
  add({"d/a1"});
  begin({"d"});
  add({"d/a2"}, "text");
  EXPECT_EQ(settled(), Texts{});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(look(1s), Texts{});
  EXPECT_EQ(opened["d/a2"], 1);
  add({"d/a2"});
  Texts found;
  for (int i = 0; i < 70 && found.empty(); ++i) found = look(1s);
  EXPECT_EQ(found, Texts{"d/a2"});
}

TEST_F(NewFilesTest, UnreadableFileIsReportedOnceAndTriedAgain) {
  add({"d/a1"});
  begin({"d"});
  add({"d/a2"}, "unreadable");
  EXPECT_EQ(settled(), Texts{});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(look(1s), Texts{});
  EXPECT_EQ(reports, Texts{"d/a2: Permission denied"});
  EXPECT_GT(opened["d/a2"], 2);
}

TEST_F(NewFilesTest, FileThatIsRemovedIsForgotten) {
  add({"d/a1"});
  begin({"d"});
  add({"d/a2"});
  EXPECT_EQ(look(1s), Texts{});
  fs::remove(folder / "d/a2");
  EXPECT_EQ(look(5s), Texts{});
  add({"d/a2"});
  EXPECT_EQ(settled(), Texts{"d/a2"});
  fs::remove(folder / "d/a2");
  EXPECT_EQ(look(5s), Texts{});
  add({"d/a2"});
  EXPECT_EQ(look(5s), Texts{});
  EXPECT_EQ(look(5s), Texts{}) << "it was returned before";
}

TEST_F(NewFilesTest, FileThatIsRenamedIntoTheDirectoryIsFound) {
  add({"d/a1", "e/made"});
  begin({"d"});
  EXPECT_EQ(look(1s), Texts{});
  fs::rename(folder / "e/made", folder / "d/a2");
  EXPECT_EQ(settled(), Texts{"d/a2"});
}

TEST_F(NewFilesTest, FileBeforeKnownOnesIsMarked) {
  add({"d/a2", "d/a4"});
  begin({"d"});
  EXPECT_EQ(look(), Texts{});
  add({"d/a1", "d/a3", "d/a5", "d/a7"});
  EXPECT_EQ(settled(), (Texts{"<d/a1", "<d/a3", "d/a5", "d/a7"}));
  add({"d/a6", "d/a8"});
  EXPECT_EQ(settled(), (Texts{"<d/a6", "d/a8"}));
}

TEST_F(NewFilesTest, OrderOfSeveralWordsIsTheirs) {
  add({"b/1", "a/1"});
  begin({"b", "a"});
  EXPECT_EQ(look(), Texts{});
  add({"a/2"});
  EXPECT_EQ(settled(), Texts{"a/2"});
  add({"a/3", "b/2"});
  EXPECT_EQ(settled(), (Texts{"<b/2", "a/3"}));
}

TEST_F(NewFilesTest, PatternsAndNamesOfSetsAreListedAnew) {
  add({"p/x-1.rec", "t-00000-of-00003", "run1/f"});
  begin({"p/x-*.rec", "t@3", "run*"});
  EXPECT_EQ(look(), Texts{});
  add({"p/x-2.rec", "p/x-2.tmp", "t-00002-of-00003", "run2/f", "other"});
  EXPECT_EQ(settled(), (Texts{"<p/x-2.rec", "<t-00002-of-00003", "run2/f"}));
  add({"run2/g"});
  EXPECT_EQ(settled(), Texts{"run2/g"});
}

TEST_F(NewFilesTest, MissingFilesAreReturnedWhenTheyAppear) {
  add({"t-00000-of-00003", "t-00002-of-00003"});
  begin({"t@3", "later"});
  EXPECT_EQ(look(), Texts{});
  add({"later", "t-00001-of-00003"});
  EXPECT_EQ(settled(), (Texts{"<t-00001-of-00003", "later"}));
}

TEST_F(NewFilesTest, ShardsOfAnotherTotalAreSurplus) {
  add({"d/t-00000-of-00002", "d/t-00001-of-00002", "d/t-00000-of-00001"});
  begin({"d"});
  EXPECT_EQ(look(), Texts{});
  add({"d/t-00000-of-00004", "d/t-00001-of-00004", "d/t-00002-of-00004", "d/t-00003-of-00004", "d/t-00002-of-00002",
       "d/u-00000-of-00004"});
  EXPECT_EQ(settled(), Texts{"d/u-00000-of-00004"});
  EXPECT_EQ(reports.size(), 5u);
  EXPECT_EQ(reports.front(), "d/t-00000-of-00004: this shard is surplus, and left out");
}

TEST_F(NewFilesTest, SetsThatAppearTogetherHaveOneTotal) {
  add({"d/a"});
  begin({"d"});
  add({"d/t-00000-of-00002", "d/t-00000-of-00003", "d/t-00001-of-00002"});
  EXPECT_EQ(settled(), (Texts{"d/t-00000-of-00002", "d/t-00001-of-00002"}));
  EXPECT_EQ(reports, Texts{"d/t-00000-of-00003: this shard is surplus, and left out"});
}

TEST_F(NewFilesTest, FileNamedByALinkIsKnown) {
  add({"real/a1"});
  folder.link("link", "real");
  begin({"link"});
  EXPECT_EQ(settled(), Texts{});
  add({"real/a2"});
  EXPECT_EQ(settled(), Texts{"real/a2"});
}

TEST_F(NewFilesTest, DirectoryThatIsRemovedHasNoNewFiles) {
  add({"d/a1", "e/a1"});
  begin({"d", "e"});
  fs::remove_all(folder / "d");
  add({"e/a2"});
  EXPECT_EQ(settled(), Texts{"e/a2"});
}

TEST_F(NewFilesTest, DirectoriesAreThoseThatTheWordsRead) {
  add({"d/a", "p1/x", "p2/x", "t-00000-of-00001", "f"});
  begin({"d", "p*/x*", "t@1", "f"});
  EXPECT_EQ(below(files->directories()), (Texts{"d", ".", "p1", "p2", "."}));
  EXPECT_EQ(below(files->tops()), (Texts{"d", ".", "."}));
}

TEST_F(NewFilesTest, CancelledCheckEndsEarly) {
  add({"d/a1"});
  begin({"d"});
  add({"d/a2"});
  EXPECT_EQ(look(1s), Texts{});
  const std::atomic<bool> cancelled{true};
  EXPECT_TRUE(files->look(RequestContext(cancelled), NewFiles::Clock::now() + 1h).empty());
  EXPECT_EQ(look(2s), Texts{"d/a2"});
}

}  // namespace
}  // namespace recordfs::testing
