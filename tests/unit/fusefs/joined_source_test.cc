#include "fusefs/data_set_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fusefs/growing_shards.h"
#include "fusefs/tree/mount_tree.h"
#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// A TFRecord file with one empty record.
const std::string kContainer("\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2", 16);

struct JoinedSourceTest : ::testing::Test {
  Result<DataSetFiles> join(const Texts& words) {
    for (const std::string& word : words) options.sources.push_back(folder / word);
    options.join = true;
    return join_sources(options, services);
  }
  void write_set(std::size_t shards) const {
    for (std::size_t i = 0; i < shards; ++i) {
      folder.write("a-0000" + std::to_string(i) + "-of-0000" + std::to_string(shards), kContainer);
    }
  }

  TempFolder folder;
  Options options;
  Texts lines;
  StoreResources services{1u << 20, 1, [this](Severity severity, const std::string& line) {
                            if (severity != Severity::kDetail) lines.push_back(line);
                          }};
};

TEST_F(JoinedSourceTest, ShardsAreExaminedAndOpenedLater) {
  write_set(3);
  const auto joined = join({"a@3"});
  ASSERT_TRUE(joined) << joined.error().detail;
  EXPECT_EQ(joined->source.list.shards.size(), 3u);
  EXPECT_EQ(joined->source.stored, 3 * kContainer.size());
  EXPECT_EQ(joined->source.format, "tfrecord");
  EXPECT_EQ(joined->source.ownerships.size(), 3u);
  EXPECT_EQ(joined->places.size(), 3u);
  EXPECT_TRUE(joined->source.open({}, 2));
  EXPECT_EQ(services.address_bits, ShardNumbers::value_bits(3) - 1);
  EXPECT_EQ(lines, Texts{});
}

TEST_F(JoinedSourceTest, MissingAndSurplusShardsAreLogged) {
  write_set(3);
  fs::remove(folder / "a-00001-of-00003");
  folder.write("a-00007-of-00003", kContainer);
  const auto joined = join({"a-\?\?\?\?\?-of-00003"});
  ASSERT_TRUE(joined) << joined.error().detail;
  EXPECT_TRUE(joined->source.list.shards[1].is_missing);
  const std::string top = fs::canonical(folder.path()).string() + "/";
  EXPECT_EQ(lines, (Texts{top + "a-00001-of-00003: this shard is missing",
                          (folder / "a-00007-of-00003").string() + ": this shard is surplus, and left out"}));
}

TEST_F(JoinedSourceTest, RedactedLogNamesNoFile) {
  write_set(2);
  fs::remove(folder / "a-00001-of-00002");
  options.redact = true;
  ASSERT_TRUE(join({"a@2"}));
  EXPECT_EQ(lines, Texts{"shard 1: this shard is missing"});
}

TEST_F(JoinedSourceTest, FileInAnotherStateIsRefusedAndLoggedOnce) {
  write_set(2);
  const auto joined = join({"a@2"});
  ASSERT_TRUE(joined);
  folder.write("a-00001-of-00002", kContainer + kContainer);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(joined->source.open({}, 1).error().code, Code::kDamage);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].ends_with("a-00001-of-00002: byte 0: changed after it was mounted")) << lines[0];
  fs::remove(folder / "a-00000-of-00002");
  EXPECT_EQ(joined->source.open({}, 0).error().code, Code::kDamage);
}

TEST_F(JoinedSourceTest, FirstFileThatIsAContainerIsEnough) {
  folder.write("a", std::string(5000, 'x'));
  folder.write("b", kContainer);
  const auto joined = join({"a", "b"});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->source.format, "tfrecord");
  ASSERT_EQ(lines.size(), 1u);
}

TEST_F(JoinedSourceTest, WithoutAnyContainerItFails) {
  folder.write("a", std::string(5000, 'x'));
  const auto joined = join({"a"});
  ASSERT_FALSE(joined);
  EXPECT_TRUE(joined.error().detail.starts_with((folder / "a").string() + ": ")) << joined.error().detail;
}

TEST_F(JoinedSourceTest, WithoutAnyFileItFails) {
  EXPECT_TRUE(join({"none"}).error().detail.ends_with("none: No such file or directory"));
}

TEST_F(JoinedSourceTest, PlacesOfManyFilesAreTheirDirectories) {
  Texts words;
  for (int i = 0; i < 40; ++i) {
    words.push_back("d" + std::to_string(i % 2) + "/" + std::to_string(i));
    folder.write(words.back(), kContainer);
  }
  const auto joined = join(words);
  ASSERT_TRUE(joined);
  const std::string top = fs::canonical(folder.path()).string();
  EXPECT_EQ(joined->places, (Texts{top + "/d0", top + "/d1"}));
}

TEST_F(JoinedSourceTest, PlacesInManyDirectoriesAreTheDirectoriesAbove) {
  Texts words;
  for (int i = 0; i < 40; ++i) {
    words.push_back("d/" + std::to_string(i) + "/data");
    folder.write(words.back(), kContainer);
  }
  const auto joined = join(words);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->places, Texts{fs::canonical(folder.path()).string() + "/d"});
}

TEST_F(JoinedSourceTest, LinkKeepsItsNameAndItsTargetIsAPlace) {
  folder.write("blobs/1234", kContainer);
  folder.make("set");
  folder.link("set/train", "../blobs/1234");
  const auto joined = join({"set/train"});
  ASSERT_TRUE(joined);
  const fs::path top = fs::canonical(folder.path());
  EXPECT_EQ(joined->source.list.shards[0].path, top / "set/train");
  EXPECT_EQ(joined->places, Texts{top / "blobs/1234"});
}

TEST_F(JoinedSourceTest, FollowedSetHasRoomForMoreShardsInItsDirectories) {
  write_set(3);
  folder.make("d");
  folder.write("d/x", kContainer);
  options.follow = true;
  const auto joined = join({"a@3", "d"});
  ASSERT_TRUE(joined) << joined.error().detail;
  EXPECT_EQ(joined->source.most_shards, 32767u);
  EXPECT_EQ(services.address_bits, ShardNumbers::value_bits(4) - 1) << "as without -o follow";
  const std::string top = fs::canonical(folder.path()).string();
  for (const std::string& place : {top, top + "/d", top + "/d/x"}) {
    EXPECT_EQ(std::ranges::count(joined->places, place), 1) << place;
  }
  EXPECT_EQ(joined->new_files->directories(), (Texts{top, top + "/d"}));
}

TEST_F(JoinedSourceTest, SetThatIsNotFollowedFindsNoNewFiles) {
  write_set(2);
  const auto joined = join({"a@2"});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->source.most_shards, 0u);
  EXPECT_EQ(joined->new_files, nullptr);
}

TEST_F(JoinedSourceTest, NewFilesAreAppendedAsFarAsThereIsRoom) {
  folder.make("d");
  folder.write("d/f5", kContainer);
  options.follow = true;
  auto joined = join({"d"});
  ASSERT_TRUE(joined) << joined.error().detail;
  joined->source.most_shards = 3;
  MountTree tree({std::move(joined->source)}, false);
  GrowingShards followed(*tree.data_set(), std::move(joined->new_files), *joined->opener, options, services);
  FileWatch watch(followed.paths());
  const auto look = [&](std::size_t shards) {
    std::size_t notified = 0;
    while (tree.data_set()->progress().all < shards) {
      EXPECT_TRUE(followed.look({}, watch, [&](std::uint64_t) { ++notified; }));
      watch.rest(FileWatch::Milliseconds(100));
    }
    EXPECT_GT(notified, 0u);
  };
  folder.write("d/f4", kContainer);
  look(2);
  const std::string top = fs::canonical(folder.path()).string();
  EXPECT_EQ(lines, Texts{top + "/d/f4: a new shard, at the end of the data set (a new mount has it before others)"});
  lines.clear();
  for (const char* name : {"d/f6", "d/f7"}) folder.write(name, kContainer);
  look(3);
  EXPECT_EQ(lines, Texts{"3 shards, so new ones are not shown any more (a new mount shows them)"});
  EXPECT_TRUE(followed.look({}, watch, [](std::uint64_t) {}));
  EXPECT_EQ(lines.size(), 1u);
  const std::uint64_t links = tree.lookup({}, MountTree::kRootNumber, "shards").value();
  EXPECT_TRUE(tree.lookup({}, links, "f6"));
  EXPECT_TRUE(tree.data_set()->container({}, 2));
}

TEST_F(JoinedSourceTest, OptionsReplaceThePermissions) {
  write_set(2);
  options.uid = 12;
  options.umask = 0077;
  const auto joined = join({"a@2"});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->source.ownerships[1].uid, 12u);
  EXPECT_EQ(joined->source.ownerships[1].file_mode, 0400u);
}

}  // namespace
}  // namespace recordfs::testing
