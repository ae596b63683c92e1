#include "fusefs/tree/mount_tree.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;

TEST(MountTree, SeveralContainersHaveADirectoryEach) {
  ToyStore first({});
  ToyStore second({.record_size = [](std::uint64_t) { return 3u; }});
  const ToyTree tree({{"first", &first}, {"second", &second}});
  EXPECT_EQ(tree.names(""), (Names{"first", "second"}));
  EXPECT_EQ(tree.read("first/records/4"), first.file.records[4]);
  EXPECT_EQ(tree.read("second/records/4"), second.file.records[4]);
  EXPECT_FALSE(tree.exists("records"));
  EXPECT_FALSE(tree.exists("third"));
}

TEST(MountTree, EqualNamesGetANumber) {
  ToyStore toy({});
  const ToyTree tree({{"same", &toy}, {"same", &toy}, {"same~2", &toy}, {"same", &toy}});
  EXPECT_EQ(tree.names(""), (Names{"same", "same~2", "same~2~2", "same~3"}));
}

TEST(MountTree, ParentsLeadBackToTheRoot) {
  ToyStore toy({});
  ToyStore other({});
  for (const bool nested : {false, true}) {
    const ToyTree tree = nested ? ToyTree({{"a", &toy}, {"b", &other}}) : ToyTree(toy);
    const std::string top = nested ? "b" : "";
    std::string path = nested ? "b/" : "";
    for (const std::string& name : Names{".views", "chunks", position_name(toy.file.begins[1]), "records"}) {
      const std::uint64_t above = tree.find(path.empty() ? "" : path.substr(0, path.size() - 1)).value();
      EXPECT_EQ(tree->subtree(tree.find(path + name).value()).parent_inode({}, tree.find(path + name).value()),
                tree->subtree(above).inode({}, above))
          << path + name;
      path += name + "/";
    }
    EXPECT_EQ(tree->subtree(tree.find(top).value()).parent_inode({}, tree.find(top).value()), MountTree::kRootNumber);
  }
}

TEST(MountTree, RecordHasTheSameNumberInEveryNestedMount) {
  ToyStore toy({});
  ToyStore other({});
  EXPECT_EQ(ToyTree({{"toy", &toy}}).find("toy/records/5").value(),
            ToyTree({{"other", &other}, {"toy", &toy}}).find("toy/records/5").value());
}

TEST(MountTree, VisitReturnsTheNumbersOfTheFollowingRecords) {
  ToyStore toy({});
  ToyStore other({});
  const ToyTree tree({{"other", &other}, {"toy", &toy}});
  std::uint64_t ordinal = 4;
  MountTree::BatchCursor following;
  tree->for_each_following({}, tree.find("toy/records/4").value(), following, [&](std::uint64_t number, Bytes bytes) {
    ++ordinal;
    EXPECT_EQ(number, tree.find("toy/records/" + std::to_string(ordinal)).value());
    EXPECT_EQ(as_text(bytes), toy.file.records[ordinal]);
    return true;
  });
  EXPECT_EQ(ordinal, 11u);
  const auto none = [](std::uint64_t, Bytes) { return ADD_FAILURE(), false; };
  for (const char* path : {"", "toy", "toy/info.json", "toy/records", "toy/.views/streams/concat"}) {
    EXPECT_FALSE(is_record(tree.find(path).value())) << path;
    tree->for_each_following({}, tree.find(path).value(), following, none);
  }
  EXPECT_TRUE(is_record(tree.find("toy/records/4").value()));
}

TEST(MountTree, VisitUsesWhatTheLastOneOfTheSameContainerKept) {
  ToyStore toy({});
  ToyStore other({});
  const ToyTree tree({{"other", &other}, {"toy", &toy}});
  const auto stop = [](std::uint64_t, Bytes) { return false; };
  constexpr std::uint64_t kMark = 1;
  MountTree::BatchCursor following;
  tree->for_each_following({}, tree.find("toy/records/3").value(), following, stop);
  following.records.batch.run.records = kMark;
  tree->for_each_following({}, tree.find("toy/records/3").value(), following, stop);
  EXPECT_EQ(following.records.batch.run.records, kMark);
  tree->for_each_following({}, tree.find("other/records/3").value(), following, stop);
  EXPECT_EQ(following.records.batch.run.records, 0u);
}

TEST(MountTree, StatusHasTheContainersOwner) {
  ToyStore toy({});
  const ToyTree tree(toy);
  EXPECT_EQ(tree.status("records/1").ownership.uid, 7u);
  const ToyTree nested({{"toy", &toy}});
  EXPECT_EQ(nested.status("").ownership.uid, 7u);
  EXPECT_EQ(nested.status("").type, FileType::kDirectory);
}

TEST(MountTree, NextRecordAfterASmallChunkIsWithinReach) {
  ToyStore toy({.chunks = 9});
  const ToyTree tree(toy);
  for (std::uint64_t ordinal = 1; ordinal < toy.file.records.size(); ++ordinal) {
    const std::uint64_t before = tree.find("records/" + std::to_string(ordinal - 1)).value();
    EXPECT_LE(tree.find("records/" + std::to_string(ordinal)).value() - before, tree->record_reach()) << ordinal;
  }
}

TEST(MountTree, PermissionsAreTheSourcesReadBits) {
  const Ownership owner = container_ownership(3, 4, 0100640, {5, 0});
  EXPECT_EQ(owner.file_mode, 0440u);
  EXPECT_EQ(owner.directory_mode, 0750u);
  EXPECT_EQ(owner.uid, 3u);
  EXPECT_EQ(owner.gid, 4u);
  EXPECT_EQ(owner.modified.tv_sec, 5);
  EXPECT_EQ(container_ownership(0, 0, 0100777, {}).file_mode, 0444u);
  EXPECT_EQ(container_ownership(0, 0, 0100200, {}).directory_mode, 0u);
}

TEST(MountTree, FileCountIncludesOnlyCountedContainers) {
  ToyStore toy({});
  ToyStore other({});
  const ToyTree tree({{"a", &toy}, {"b", &other}});
  EXPECT_EQ(tree->usage({}).files, 0u);
  ASSERT_TRUE(waited([&] { return toy.store->index().totals(ScanDetail::kCounts); }));
  EXPECT_EQ(tree->usage({}).files, 12u);
  EXPECT_EQ(tree->usage({}).bytes, toy.file.bytes.size() * 2);
}

TEST(MountTree, ManyThreadsReadAndListTheSameAsOne) {
  ToyStore toy({.chunks = 60}, {.anchors = 2, .chunks_per_anchor = 2, .cached_chunks = 4}, 4000);
  const ToyTree tree(toy);
  std::vector<std::future<int>> wrong;
  for (std::size_t first = 0; first < 6; ++first) {
    wrong.push_back(std::async(std::launch::async, [&, first] {
      int count = tree.names("records").size() == 180 ? 0 : 1;
      for (std::size_t i = first; i < 180; i += 7) {
        if (tree.read("records/" + record_name(i)) != toy.file.records[i]) ++count;
      }
      return count + (tree.read(".views/index/summary.json").empty() ? 1 : 0) +
             (tree.read("info.json").empty() ? 1 : 0) + (tree.read(".views/index/damage.tsv").empty() ? 1 : 0);
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
}

}  // namespace
}  // namespace recordfs::testing
