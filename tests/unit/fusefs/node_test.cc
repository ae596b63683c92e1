#include "fusefs/tree/node.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace recordfs {
namespace {

void expect_round_trip(const InodeMap& inode_map, std::size_t container, Node node) {
  const auto found = inode_map.find(inode_map.number(container, node));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->container, container);
  EXPECT_EQ(found->node, node);
}

TEST(InodeMap, RootOfASingleContainerIsTheMountRoot) { EXPECT_EQ(InodeMap::single().number(0, Node{}), 1u); }

TEST(InodeMap, EveryNodeOfASingleContainerRoundTrips) {
  const InodeMap inode_map = InodeMap::single();
  for (std::uint8_t kind = 0; kind < kNodeKinds; ++kind) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{65536}, (std::uint64_t{1} << kValueBits) - 1}) {
      expect_round_trip(inode_map, 0, {static_cast<NodeKind>(kind), value});
    }
  }
}

TEST(InodeMap, NumberOfUnknownKindIsInvalid) {
  for (std::uint64_t kind = kNodeKinds; kind < std::uint64_t{1} << (64 - kValueBits); ++kind) {
    EXPECT_FALSE(InodeMap::single().find(kind << kValueBits | 5));
  }
}

TEST(InodeMap, SeveralContainersHaveDistinctNumbers) {
  InodeMap inode_map;
  for (int i = 0; i < 200; ++i) inode_map.add("container " + std::to_string(i), 1ull << (i % 40));
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < 200; ++i) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << (i % 40)}) {
      const Node node{NodeKind::kRecord, value};
      expect_round_trip(inode_map, i, node);
      numbers.insert(inode_map.number(i, node));
    }
  }
  EXPECT_GE(numbers.size(), 200u * 2);
}

TEST(InodeMap, ReservedNumbersAreInvalid) {
  InodeMap inode_map;
  inode_map.add("a", 100);
  inode_map.add("b", 100);
  EXPECT_FALSE(inode_map.find(0));
  EXPECT_FALSE(inode_map.find(1));
}

TEST(InodeMap, ContainerHasTheSameNumbersInEveryMount) {
  InodeMap alone;
  alone.add("b", 5000);
  InodeMap together;
  for (const char* name : {"a", "b", "c"}) together.add(name, 5000);
  EXPECT_EQ(alone.number(0, Node{}), together.number(1, Node{}));
}

TEST(InodeMap, RangesThatWouldOverlapAreMovedApart) {
  InodeMap inode_map;
  for (std::size_t i = 0; i < 20; ++i) inode_map.add("same name", 10000);
  for (std::size_t i = 0; i < 20; ++i) {
    expect_round_trip(inode_map, i, {NodeKind::kRecord, 0});
    expect_round_trip(inode_map, i, {NodeKind::kRecord, 10000});
  }
}

TEST(InodeMap, LargeRangesStayWithinTheNumberSpace) {
  InodeMap inode_map;
  const std::uint64_t quarter = std::uint64_t{1} << (kValueBits - 2);
  for (int i = 0; i < 3; ++i) inode_map.add("name", quarter - 5000);
  for (std::size_t i = 0; i < 3; ++i) {
    expect_round_trip(inode_map, i, {NodeKind::kAttribute, 0});
    expect_round_trip(inode_map, i, {NodeKind::kAttribute, quarter - 5000});
  }
}

TEST(InodeMap, ManyContainersOfTheMostValuesNeverShareANumber) {
  for (const std::size_t containers : {1u, 2u, 5u, 9u, 64u}) {
    InodeMap inode_map;
    const std::uint64_t most = (std::uint64_t{1} << InodeMap::value_bits(containers)) - 1;
    for (std::size_t i = 0; i < containers; ++i) inode_map.add("file " + std::to_string(i), most + 100);
    for (std::size_t i = 0; i < containers; ++i) {
      expect_round_trip(inode_map, i, {NodeKind::kRecord, 0});
      expect_round_trip(inode_map, i, {NodeKind::kRecord, most});
    }
  }
}

}  // namespace
}  // namespace recordfs
