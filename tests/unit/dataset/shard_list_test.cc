// From the words of a command line to the shards of a data set.
#include "core/dataset/shard_list.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/dataset/manifest.h"
#include "tests/unit/support/temp_folder.h"
#include "tests/unit/support/unprivileged.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;

// Files that contain "container" are containers; "unreadable" ones fail.
Result<bool> is_container(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  if (word == "unreadable") return Error{.code = Code::kIo, .detail = "Input/output error"};
  return word == "container";
}

class ShardListTest : public ::testing::Test {
 protected:
  void make(const Names& names, std::string_view content = "container") {
    for (const std::string& name : names) folder.write(name, content);
  }
  std::string at(std::string_view name) const { return folder / name; }

  // Returns paths below the folder; a missing one in parentheses, and surplus ones after "+".
  Names shown(const Result<ShardList>& list) const {
    if (!list) return {"failed: " + below(list.error().detail)};
    Names names;
    for (const Shard& shard : list->shards) {
      names.push_back(shard.is_missing ? "(" + below(shard.path) + ")" : below(shard.path));
    }
    for (const std::string& path : list->surplus) names.push_back("+" + below(path));
    return names;
  }
  std::string below(const std::string& path) const {
    const std::string before = folder.path() + "/";
    return path.starts_with(before) ? path.substr(before.size()) : path;
  }
  Names list(std::string_view word) const { return shown(list_shards(at(word), is_container)); }
  Names list_all(const Names& words) const {
    Names paths;
    for (const std::string& word : words) paths.push_back(at(word));
    return shown(list_shards(paths, is_container));
  }
  Names manifest(std::string_view text) const {
    folder.write("manifest", text);
    return shown(read_manifest(at("manifest")));
  }

  TempFolder folder;
};

TEST_F(ShardListTest, ExistingFileIsItselfWhateverItsName) {
  make({"plain", "a*", "b[1]", "x@2.tfrecord", "t-00000-of-00002"});
  for (const std::string name : {"plain", "a*", "b[1]", "x@2.tfrecord", "t-00000-of-00002"}) {
    EXPECT_EQ(list(name), Names{name});
    EXPECT_TRUE(list_shards(at(name), is_container)->is_one_file);
    EXPECT_FALSE(names_set(at(name)));
  }
}

TEST_F(ShardListTest, MissingFileIsOneFile) {
  EXPECT_EQ(list("nothing"), Names{"nothing"});
  EXPECT_TRUE(list_shards(at("nothing"), is_container)->is_one_file);
  EXPECT_FALSE(list_shards(at("nothing"), is_container)->shards.front().is_missing);
}

TEST_F(ShardListTest, PatternIsExpandedInNaturalOrder) {
  make({"part-10", "part-9", "part-1", "other", ".hidden-1"});
  EXPECT_EQ(list("part-*"), (Names{"part-1", "part-9", "part-10"}));
  EXPECT_EQ(list("*-1*"), (Names{"part-1", "part-10"}));
  EXPECT_EQ(list("part-[!1]"), Names{"part-9"});
  EXPECT_TRUE(names_set(at("part-*")));
  EXPECT_FALSE(list_shards(at("part-?"), is_container)->is_one_file);
}

TEST_F(ShardListTest, PatternWithoutMatchFails) {
  EXPECT_EQ(list("nothing*"), Names{"failed: nothing*: no file matches"});
  EXPECT_EQ(list("no/such/dir/*"), Names{"failed: no/such/dir/*: no file matches"});
  EXPECT_EQ(list("[a,b]"), Names{"failed: [a,b]: no file matches"});
}

TEST_F(ShardListTest, DirectoryOfAPatternMeansItsContainers) {
  make({"d2/b", "d2/a", "d10/c", "f"});
  make({"d2/note"}, "text");
  EXPECT_EQ(list("d*"), (Names{"d2/a", "d2/b", "d10/c"}));
}

TEST_F(ShardListTest, DirectoryMeansItsContainersInNaturalOrder) {
  make({"d/b10", "d/b9", "d/sub/inner", "d/.hidden"});
  make({"d/README.md"}, "text");
  make({"d/broken"}, "unreadable");
  folder.link("d/link", at("d/b9"));
  folder.link("d/dangling", at("d/nothing"));
  EXPECT_EQ(list("d"), (Names{"d/b9", "d/b10", "d/broken", "d/link"}));
  EXPECT_EQ(list("d/"), (Names{"d/b9", "d/b10", "d/broken", "d/link"}));
  EXPECT_TRUE(names_set(at("d")));
}

TEST_F(ShardListTest, DirectoryMeansDamagedFilesWithNamesOfContainersToo) {
  make({"d/a.tfrecord"});
  make({"d/b.tfrecord", "d/c.log"}, "text");
  make({"d/empty.tfrecord"}, "");
  folder.link("d/gone.tfrecord", at("d/nothing"));
  EXPECT_EQ(list("d"), (Names{"d/a.tfrecord", "d/b.tfrecord", "d/gone.tfrecord"}));
}

TEST_F(ShardListTest, PatternMatchesWhatCannotBeExamined) {
  make({"d1/x", "d2/x", "d3/sub/x"});
  std::filesystem::permissions(at("d2"), std::filesystem::perms(0));
  const auto [plain, wild] = [this] {
    const Unprivileged ordinary;
    return std::pair(list("d*/x"), list("d*/*x"));
  }();
  std::filesystem::permissions(at("d2"), std::filesystem::perms(0700));
  EXPECT_EQ(plain, (Names{"d1/x", "d2/x"}));
  EXPECT_EQ(wild, (Names{"d1/x", "d2"}));
}

TEST_F(ShardListTest, DirectoryOfRunsMeansThoseInItsSubdirectories) {
  make({"logs/b10/events.out.tfevents.1", "logs/b9/events.out.tfevents.1", "logs/b9/model/x.tfevents", "logs/b9/other",
        "logs/.trash/events.out.tfevents.1", "outside/run-1.wandb"});
  folder.link("logs/a", at("logs/b9"));
  folder.link("logs/b9/loop", at("logs"));
  folder.link("logs/c", at("outside"));
  folder.link("logs/d", at("outside"));
  const Names below{"logs/b9/events.out.tfevents.1", "logs/b9/model/x.tfevents", "logs/b10/events.out.tfevents.1",
                    "logs/c/run-1.wandb"};
  EXPECT_EQ(list("logs"), below);
  make({"logs/events.out.tfevents.1"});
  Names all{"logs/events.out.tfevents.1"};
  all.insert(all.end(), below.begin(), below.end());
  EXPECT_EQ(list("logs/"), all);
  EXPECT_EQ(list("log?"), all);
  const auto named = list_shards(at("logs"), is_container);
  EXPECT_EQ(named->shards[1].path_in_set(), "b9/events.out.tfevents.1");
  make({"logs/data.tfrecord"});
  EXPECT_EQ(list("logs"), (Names{"logs/data.tfrecord", "logs/events.out.tfevents.1"})) << "not a directory of runs";
}

TEST_F(ShardListTest, UnreadableSubdirectoryOfALogDirectoryIsAShardThatCannotBeOpened) {
  make({"logs/closed/events.out.tfevents.1", "logs/train/events.out.tfevents.2", "logs/listed/run",
        "none/closed/events.out.tfevents.1"});
  for (const char* const closed : {"logs/closed", "none/closed"}) {
    std::filesystem::permissions(at(closed), std::filesystem::perms(0));
  }
  std::filesystem::permissions(at("logs/listed"), std::filesystem::perms(0444));
  const auto [logs, none] = [this] {
    const Unprivileged ordinary;
    return std::pair(list("logs"), list("none"));
  }();
  for (const char* const closed : {"logs/closed", "logs/listed", "none/closed"}) {
    std::filesystem::permissions(at(closed), std::filesystem::perms(0700));
  }
  EXPECT_EQ(logs, (Names{"logs/train/events.out.tfevents.2", "logs/closed/", "logs/listed/run/"}));
  EXPECT_EQ(none, Names{"failed: none: no record container in this directory"});
}

TEST_F(ShardListTest, DirectoryWithoutContainersFails) {
  folder.make("empty");
  make({"text/README"}, "text");
  EXPECT_EQ(list("empty"), Names{"failed: empty: no record container in this directory"});
  EXPECT_EQ(list("text"), Names{"failed: text: no record container in this directory"});
}

TEST_F(ShardListTest, DamagedShardOfASetInADirectoryIsKept) {
  make({"d/t-00000-of-00003", "d/t-00002-of-00003"});
  make({"d/t-00001-of-00003", "d/u-00001-of-00003", "d/notes"}, "damaged");
  EXPECT_EQ(list("d"), (Names{"d/t-00000-of-00003", "d/t-00001-of-00003", "d/t-00002-of-00003"}));
}

TEST_F(ShardListTest, MissingShardsAreFoundInEveryWayToNameASet) {
  make({"t-00000-of-00004.rec", "t-00002-of-00004.rec"});
  const Names wanted{"t-00000-of-00004.rec", "(t-00001-of-00004.rec)", "t-00002-of-00004.rec",
                     "(t-00003-of-00004.rec)"};
  EXPECT_EQ(list("t@4.rec"), wanted);
  EXPECT_EQ(list("t-?????"
                 "-of-00004.rec"),
            wanted);
  EXPECT_EQ(list("t-*"), wanted);
  EXPECT_EQ(list(""), wanted);
  EXPECT_EQ(list_all({"t-00000-of-00004.rec", "t-00002-of-00004.rec"}), wanted);
  EXPECT_EQ(list_shards(at("t@4.rec"), is_container)->missing(), 2u);
}

TEST_F(ShardListTest, MissingFirstShardsComeFirst) {
  make({"t-00002-of-00004", "t-00003-of-00004", "s"});
  const Names wanted{"(t-00000-of-00004)", "(t-00001-of-00004)", "t-00002-of-00004", "t-00003-of-00004"};
  EXPECT_EQ(list("t*"), wanted);
  EXPECT_EQ(list_all({"t-00002-of-00004", "t-00003-of-00004"}), wanted);
  EXPECT_EQ(list_all({"s", "t-00003-of-00004", "t-00002-of-00004"}),
            (Names{"s", "t-00003-of-00004", "(t-00000-of-00004)", "(t-00001-of-00004)", "t-00002-of-00004"}));
}

TEST_F(ShardListTest, SurplusShardsAreLeftOut) {
  make({"t-00000-of-00002", "t-00001-of-00002", "t-00002-of-00002", "t-00000-of-00001"});
  const Names wanted{"t-00000-of-00002", "t-00001-of-00002", "+t-00000-of-00001", "+t-00002-of-00002"};
  EXPECT_EQ(list("t@2"), wanted);
  EXPECT_EQ(list("t-?????"
                 "-of-00002"),
            wanted);
  EXPECT_EQ(list("t*"), wanted);
  EXPECT_EQ(list(""), wanted);
  EXPECT_EQ(list_all({"t-00000-of-00001", "t-00000-of-00002", "t-00001-of-00002", "t-00002-of-00002"}), wanted);
}

TEST_F(ShardListTest, OfTwoTotalsTheOneWithMoreFilesCounts) {
  make({"t-00000-of-00002", "t-00001-of-00002", "t-00000-of-00009"});
  EXPECT_EQ(list("t*"), (Names{"t-00000-of-00002", "t-00001-of-00002", "+t-00000-of-00009"}));
  make({"s-00000-of-00001", "s-00000-of-00002"});
  EXPECT_EQ(list("s*"), (Names{"s-00000-of-00002", "(s-00001-of-00002)", "+s-00000-of-00001"}));
}

TEST_F(ShardListTest, SecondSpellingOfANumberIsSurplus) {
  make({"t-00000-of-00002", "t-0-of-00002", "t-00001-of-00002"});
  EXPECT_EQ(list("t*").size(), 3u);
  EXPECT_EQ(list_shards(at("t*"), is_container)->surplus.size(), 1u);
  EXPECT_EQ(list_shards(at("t*"), is_container)->missing(), 0u);
}

TEST_F(ShardListTest, SetsOfDifferentNamesAreComplete) {
  make({"test-00000-of-00001.a", "train-00000-of-00002.a", "train-00001-of-00002.a", "train-00000-of-00001.b"});
  EXPECT_EQ(list("t*"), (Names{"test-00000-of-00001.a", "train-00000-of-00001.b", "train-00000-of-00002.a",
                               "train-00001-of-00002.a"}));
}

TEST_F(ShardListTest, PartOfASetThatAPatternSelectsIsComplete) {
  make({"t-00000-of-00012", "t-00001-of-00012", "t-00010-of-00012"});
  EXPECT_EQ(list("t-0000[01]-of-00012"), (Names{"t-00000-of-00012", "t-00001-of-00012"}));
  EXPECT_EQ(list("t-0000[012]-of-00012"), (Names{"t-00000-of-00012", "t-00001-of-00012", "(t-00002-of-00012)"}));
}

TEST_F(ShardListTest, ShardThatExistsAndWasNotListedIsNotMissing) {
  make({"t-00000-of-00003", "t-00001-of-00003", "t-00002-of-00003"});
  EXPECT_EQ(list_all({"t-00000-of-00003", "t-00002-of-00003"}), (Names{"t-00000-of-00003", "t-00002-of-00003"}));
}

TEST_F(ShardListTest, OneShardAmongOtherFilesIsNoSet) {
  make({"t-00000-of-00003", "a"});
  EXPECT_EQ(list_all({"t-00000-of-00003", "a"}), (Names{"t-00000-of-00003", "a"}));
}

TEST_F(ShardListTest, ListedFilesKeepTheirOrder) {
  make({"b", "a", "c"});
  EXPECT_EQ(list_all({"b", "c", "a", "b"}), (Names{"b", "c", "a", "b"}));
  EXPECT_EQ(list_all({"c", "b*", "nothing"}), (Names{"c", "b", "nothing"}));
  const Names one{at("b")};
  EXPECT_TRUE(list_shards(one, is_container)->is_one_file);
  EXPECT_FALSE(list_shards(Names{}, is_container));
}

TEST_F(ShardListTest, ShardListedTwiceIsReadTwice) {
  make({"t-00000-of-00001"});
  EXPECT_EQ(list_all({"t-00000-of-00001", "t-00000-of-00001"}), (Names{"t-00000-of-00001", "t-00000-of-00001"}));
}

TEST_F(ShardListTest, SetWithoutAnyShardFails) {
  EXPECT_EQ(list("t@4.rec"), Names{"failed: t@4.rec: no shard of this set exists"});
  EXPECT_EQ(list("t-?????"
                 "-of-00004"),
            Names{"failed: t-?????"
                  "-of-00004: no shard of this set exists"});
  EXPECT_FALSE(list_shards(at("no/such/t@4"), is_container));
}

TEST_F(ShardListTest, TooManyShardsFail) {
  make({"a1", "a2", "a3", "t-00000-of-00900"});
  const NamingBounds bounds{.shards = 2};
  EXPECT_EQ(list_shards(at("a*"), is_container, bounds).error().code, Code::kLimit);
  EXPECT_EQ(list_shards(at("t@900"), is_container, bounds).error().code, Code::kLimit);
  EXPECT_EQ(list_shards(at("t*"), is_container, bounds).error().code, Code::kLimit);
  EXPECT_EQ(list_shards(folder.path(), is_container, bounds).error().code, Code::kLimit);
  const Names listed{at("a1"), at("a2"), at("a3")};
  EXPECT_EQ(list_shards(listed, is_container, bounds).error().code, Code::kLimit);
  folder.write("m", "a1\na2\na3\n");
  EXPECT_EQ(read_manifest(at("m"), bounds).error().code, Code::kLimit);
}

TEST_F(ShardListTest, TotalThatIsTooLargeFailsBeforeItIsAllocated) {
  make({"t-1-of-900000000000000", "t-2-of-900000000000000"});
  const Names both{at("t-1-of-900000000000000"), at("t-2-of-900000000000000")};
  for (const auto& list : {list_shards(at("t@900000000000000"), is_container), list_shards(at("t-*"), is_container),
                           list_shards(folder.path(), is_container), list_shards(both, is_container)}) {
    EXPECT_EQ(list.error().code, Code::kLimit);
  }
  EXPECT_TRUE(list_shards(both.front(), is_container));
}

TEST_F(ShardListTest, NamesWithUnusualBytesAreListed) {
  make({"d/two\nlines", "d/\xff\xfe", "d/ space ", "d/-x"});
  EXPECT_EQ(list("d"), (Names{"d/ space ", "d/-x", "d/two\nlines", "d/\xff\xfe"}));
}

TEST_F(ShardListTest, VeryLongWordIsOneFile) {
  const std::string word(100000, 'x');
  EXPECT_EQ(list_shards(word, is_container)->shards.front().path, word);
  EXPECT_FALSE(list_shards(at(std::string(100000, '*')), is_container));
}

TEST_F(ShardListTest, FilesThatAWordMeansNowAreListedWhateverTheirContent) {
  make({"d/b10", "d/b9", "d/.hidden", "d/sub/inner", "t-00000-of-00003", "t-00002-of-00003", "t-00000-of-00002"},
       "any");
  folder.make("e1");
  const auto files = [this](std::string_view word) {
    Names names = list_files(at(word)).value();
    for (std::string& path : names) path = below(path);
    return names;
  };
  EXPECT_EQ(files("d"), (Names{"d/b9", "d/b10"}));
  EXPECT_EQ(files("d/b*"), (Names{"d/b9", "d/b10"}));
  EXPECT_EQ(files("?"), (Names{"d/b9", "d/b10"}));
  EXPECT_EQ(files("t@3"), (Names{"t-00000-of-00003", "t-00002-of-00003"}));
  EXPECT_EQ(files("t-*"), (Names{"t-00000-of-00002", "t-00000-of-00003", "t-00002-of-00003"}));
  EXPECT_EQ(files("d/b9"), Names{"d/b9"});
  for (const char* word : {"nothing", "nothing*", "u@4", "e1", "e*"}) EXPECT_EQ(files(word), Names{}) << word;
  EXPECT_EQ(list_files(at("d"), {.shards = 1}).error().code, Code::kLimit);
}

TEST_F(ShardListTest, DirectoriesOfAWordAreThoseWhoseNamesItReads) {
  make({"d1/a", "d2/sub/b", "x"});
  const auto directories = [this](std::string_view word) {
    Names names = directories_of(at(word));
    for (std::string& path : names) path = below(path);
    return names;
  };
  EXPECT_EQ(directories("d1"), Names{"d1"});
  EXPECT_EQ(directories("d1/t@3"), Names{"d1/"});
  EXPECT_EQ(directories("x"), Names{});
  EXPECT_EQ(directories("d1/nothing"), Names{"d1/"});
  EXPECT_EQ(directories("d1/*"), Names{"d1/"});
  EXPECT_EQ(directories("d*/b*"), (Names{"", "d1/", "d2/"}));
  EXPECT_EQ(directories("d*/s*"), (Names{"", "d1/", "d2/", "d2/sub/"}));
  EXPECT_EQ(directories_of("*").front(), ".");
}

TEST_F(ShardListTest, AbsoluteWordMeansTheSameInAnyDirectory) {
  make({"odd [1]*/t-1", "odd [1]*/t-2", "odd [1]*/f", "odd 1/t-3"});
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(at("odd [1]*"));
  const Names words{absolute_word("t-*"), absolute_word("f"), absolute_word(at("odd 1"))};
  std::filesystem::current_path(before);
  EXPECT_EQ(list_files(words[0]).value(), (Names{at("odd [1]*/t-1"), at("odd [1]*/t-2")}));
  EXPECT_EQ(list_files(words[1]).value(), Names{at("odd [1]*/f")});
  EXPECT_EQ(list_files(words[2]).value(), Names{at("odd 1/t-3")});
}

TEST_F(ShardListTest, ManifestNamesFilesRelativeToItself) {
  EXPECT_EQ(manifest("b\nsub/a\n/abs/c\n"), (Names{"b", "sub/a", "/abs/c"}));
  EXPECT_EQ(manifest("b"), Names{"b"});
}

TEST_F(ShardListTest, ManifestMayHaveCommentsAndEmptyLines) {
  EXPECT_EQ(manifest("# shards\r\n\r\nb\r\n\n./#c\n"), (Names{"b", "./#c"}));
}

TEST_F(ShardListTest, LinesOfAManifestAreNoPatterns) {
  make({"a1", "a2"});
  EXPECT_EQ(manifest("a*\nx@5\n"), (Names{"a*", "x@5"}));
}

TEST_F(ShardListTest, InvalidManifestFails) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(manifest("a\nb\nc\0d\n"sv), Names{"failed: manifest: line 3 has a NUL byte, so this is no manifest"});
  EXPECT_EQ(manifest(std::string(5000, 'x')), Names{"failed: manifest: line 1 is too long for a path"});
  EXPECT_EQ(manifest("# nothing\n"), Names{"failed: manifest: this manifest names no file"});
  EXPECT_EQ(manifest(""), Names{"failed: manifest: this manifest names no file"});
  EXPECT_EQ(shown(read_manifest(at("nothing"))), Names{"failed: nothing: No such file or directory"});
  EXPECT_EQ(shown(read_manifest(folder.path())), Names{"failed: " + folder.path() + ": Is a directory"});
  folder.write("m", "0123456789");
  EXPECT_EQ(read_manifest(at("m"), {.manifest_bytes = 9}).error().code, Code::kLimit);
}

}  // namespace
}  // namespace recordfs::testing
