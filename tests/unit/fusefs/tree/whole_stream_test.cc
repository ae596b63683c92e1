// The container-defined stream: a file in streams/ and a link at the root, named by the container.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/fusefs/tree/toy_tree.h"

namespace recordfs::testing {
namespace {

constexpr std::size_t kRecordSize = 20;

class Offering final : public ForwardingContainer {
 public:
  Offering(std::unique_ptr<Container> toy, std::uint64_t records)
      : ForwardingContainer(std::move(toy)), traits_(ForwardingContainer::traits()) {
    traits_.array = DenseArray{"all.bin", "head", kRecordSize, 4 + records * kRecordSize};
  }
  const ContainerTraits& traits() const override { return traits_; }

 private:
  ContainerTraits traits_;
};

class DenseArrayTest : public ::testing::Test {
 protected:
  explicit DenseArrayTest(const toy::Shape& shape = {.record_size = [](std::uint64_t) { return kRecordSize; }})
      : toy_(shape) {
    auto container = std::make_unique<Offering>(toy::open(toy_.source, Limits{}, toy_.watch).value(), 12);
    toy_.store = std::make_shared<RecordStore>("toy", toy_.source, std::move(container), toy_.services);
  }
  std::string all_records() const {
    std::string all = "head";
    for (const std::string& record : toy_.file.records) all += record;
    return all;
  }

  ToyStore toy_;
};

TEST_F(DenseArrayTest, IsAFileAndAnUnlistedLinkAtTheRoot) {
  const ToyTree tree(toy_);
  EXPECT_EQ(tree.target("all.bin"), ".views/streams/all.bin");
  EXPECT_EQ(tree.status("all.bin").size, tree.target("all.bin").size());
  EXPECT_EQ(tree.names(".views/streams"), (std::vector<std::string>{"concat", "lines", "all.bin"}));
  const auto root = tree.names("");
  EXPECT_EQ(std::ranges::find(root, "all.bin"), root.end());
}

TEST_F(DenseArrayTest, HasItsSizeWithoutAScanAndHoldsPrefixAndRecords) {
  const ToyTree tree(toy_);
  EXPECT_EQ(tree.status(".views/streams/all.bin").size, 244u);
  EXPECT_FALSE(toy_.store->index().state().complete);
  EXPECT_EQ(tree.read(".views/streams/all.bin"), all_records());
}

TEST_F(DenseArrayTest, IsMissingIfTheContainerHasNone) {
  ToyStore plain({});
  const ToyTree tree(plain);
  EXPECT_FALSE(tree.exists("all.bin"));
  EXPECT_FALSE(tree.exists(".views/streams/all.bin"));
  EXPECT_EQ(tree.names(".views/streams"), (std::vector<std::string>{"concat", "lines"}));
}

class UnevenTest : public DenseArrayTest {
 protected:
  UnevenTest() : DenseArrayTest({.record_size = [](std::uint64_t ordinal) { return ordinal == 5 ? 19u : 20u; }}) {}
};

TEST_F(UnevenTest, OnlyTheRecordOfAnotherSizeFails) {
  const ToyTree tree(toy_);
  const auto node = tree.find(".views/streams/all.bin").value();
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    return waited([&] { return tree->subtree(node).read({}, node, offset, length); });
  };
  EXPECT_EQ(text_of(*read(4 + 4 * 20, 20)), toy_.file.records[4]);
  EXPECT_EQ(read(4 + 5 * 20, 1).error().code, Code::kDamage);
  EXPECT_EQ(text_of(*read(4 + 6 * 20, 20)), toy_.file.records[6]);
}

}  // namespace
}  // namespace recordfs::testing
