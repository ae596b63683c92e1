#include "fusefs/tree/node.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace recordfs {
namespace {

void expect_round_trip(const Numbering& numbering, std::size_t container, Node node) {
  const auto found = numbering.find(numbering.number(container, node));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->container, container);
  EXPECT_EQ(found->node, node);
}

TEST(Numbering, RootOfASingleContainerIsTheMountRoot) { EXPECT_EQ(Numbering::single().number(0, Node{}), 1u); }

TEST(Numbering, EveryNodeOfASingleContainerRoundTrips) {
  const Numbering numbering = Numbering::single();
  for (std::uint8_t kind = 0; kind < kNodeKinds; ++kind) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{65536}, (std::uint64_t{1} << kValueBits) - 1}) {
      expect_round_trip(numbering, 0, {static_cast<NodeKind>(kind), value});
    }
  }
}

TEST(Numbering, NumberOfUnknownKindIsInvalid) {
  for (std::uint64_t kind = kNodeKinds; kind < std::uint64_t{1} << (64 - kValueBits); ++kind) {
    EXPECT_FALSE(Numbering::single().find(kind << kValueBits | 5));
  }
}

TEST(Numbering, SeveralContainersHaveDistinctNumbers) {
  Numbering numbering;
  for (int i = 0; i < 200; ++i) numbering.add("container " + std::to_string(i), 1ull << (i % 40));
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < 200; ++i) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << (i % 40)}) {
      const Node node{NodeKind::kRecord, value};
      expect_round_trip(numbering, i, node);
      numbers.insert(numbering.number(i, node));
    }
  }
  EXPECT_GE(numbers.size(), 200u * 2);
}

TEST(Numbering, ReservedNumbersAreInvalid) {
  Numbering numbering;
  numbering.add("a", 100);
  numbering.add("b", 100);
  EXPECT_FALSE(numbering.find(0));
  EXPECT_FALSE(numbering.find(1));
}

TEST(Numbering, ContainerHasTheSameNumbersInEveryMount) {
  Numbering alone;
  alone.add("b", 5000);
  Numbering together;
  for (const char* name : {"a", "b", "c"}) together.add(name, 5000);
  EXPECT_EQ(alone.number(0, Node{}), together.number(1, Node{}));
}

TEST(Numbering, RangesThatWouldOverlapAreMovedApart) {
  Numbering numbering;
  for (std::size_t i = 0; i < 20; ++i) numbering.add("same name", 10000);
  for (std::size_t i = 0; i < 20; ++i) {
    expect_round_trip(numbering, i, {NodeKind::kRecord, 0});
    expect_round_trip(numbering, i, {NodeKind::kRecord, 10000});
  }
}

TEST(Numbering, LargeRangesStayWithinTheNumberSpace) {
  Numbering numbering;
  const std::uint64_t quarter = std::uint64_t{1} << (kValueBits - 2);
  for (int i = 0; i < 3; ++i) numbering.add("name", quarter - 5000);
  for (std::size_t i = 0; i < 3; ++i) {
    expect_round_trip(numbering, i, {NodeKind::kAttribute, 0});
    expect_round_trip(numbering, i, {NodeKind::kAttribute, quarter - 5000});
  }
}

TEST(Numbering, ManyContainersOfTheMostValuesNeverShareANumber) {
  for (const std::size_t containers : {1u, 2u, 5u, 9u, 64u}) {
    Numbering numbering;
    const std::uint64_t most = (std::uint64_t{1} << Numbering::value_bits(containers)) - 1;
    for (std::size_t i = 0; i < containers; ++i) numbering.add("file " + std::to_string(i), most + 100);
    for (std::size_t i = 0; i < containers; ++i) {
      expect_round_trip(numbering, i, {NodeKind::kRecord, 0});
      expect_round_trip(numbering, i, {NodeKind::kRecord, most});
    }
  }
}

}  // namespace
}  // namespace recordfs
