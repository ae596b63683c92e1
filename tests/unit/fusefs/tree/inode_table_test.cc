#include "fusefs/tree/inode_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace recordfs {
namespace {

// Containers that are added in order.
struct Containers {
  void add(std::string_view name, std::uint64_t values) { add(InodeTable::wanted(name, values)); }
  void add(InodeTable::Range wanted) { begins.push_back(inodes.add(begins.size(), wanted).value()); }
  std::uint64_t number(std::size_t container, Node node) const { return number_in(begins[container], node); }
  void expect_round_trip(std::size_t container, Node node) const {
    const auto found = inodes.find(number(container, node));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->container, container);
    EXPECT_EQ(found->node, node);
  }

  InodeTable inodes;
  std::vector<std::uint64_t> begins;
};

Node part(std::uint64_t address, std::uint64_t number) { return {NodeKind::kPart, address, number}; }

TEST(InodeTable, RootOfASingleContainerIsTheMountRoot) {
  Containers single;
  single.add(InodeTable::kWhole);
  EXPECT_EQ(single.number(0, Node{}), 1u);
}

TEST(InodeTable, EveryNodeOfASingleContainerRoundTrips) {
  Containers single;
  single.add(InodeTable::kWhole);
  for (std::uint8_t kind = 0; kind < kNodeKinds; ++kind) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{65536}, (std::uint64_t{1} << kValueBits) - 1}) {
      single.expect_round_trip(0, {static_cast<NodeKind>(kind), value});
    }
  }
}

TEST(InodeTable, NumberOfUnknownKindIsInvalid) {
  InodeTable inodes;
  ASSERT_EQ(inodes.add(0, InodeTable::kWhole), 0u);
  for (std::uint64_t kind = kNodeKinds; kind < std::uint64_t{1} << (64 - kValueBits); ++kind) {
    EXPECT_FALSE(inodes.find(kind << kValueBits | 5));
  }
}

TEST(InodeTable, ShardsFollowTheNodesThatAreInNoContainer) {
  InodeTable inodes;
  constexpr int kBits = 20;
  inodes.add_own(kBits, 3);
  const auto resolved = [&](std::uint64_t value) { return inodes.find(number_in(0, {NodeKind::kRecord, value})); };
  EXPECT_EQ(resolved(7)->container, InodeTable::kOwnNodes);
  EXPECT_EQ(resolved(7)->node.value, 7u);
  for (std::uint64_t shard = 0; shard < 3; ++shard) {
    const std::uint64_t begin = (shard + 1) << kBits;
    EXPECT_EQ(resolved(begin)->container, shard);
    EXPECT_EQ(resolved(begin + 9)->node, (Node{NodeKind::kRecord, 9}));
    EXPECT_EQ(resolved(begin + (1u << kBits) - 1)->container, shard);
  }
  EXPECT_FALSE(resolved(std::uint64_t{4} << kBits));
  EXPECT_EQ(inodes.find(number_in(0, {NodeKind::kDatabase, 5}))->container, InodeTable::kOwnNodes);
}

TEST(InodeTable, SeveralContainersHaveDistinctNumbers) {
  Containers containers;
  for (int i = 0; i < 200; ++i) containers.add("container " + std::to_string(i), 1ull << (i % 40));
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < 200; ++i) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << (i % 40)}) {
      const Node node{NodeKind::kRecord, value};
      containers.expect_round_trip(i, node);
      numbers.insert(containers.number(i, node));
    }
  }
  EXPECT_GE(numbers.size(), 200u * 2);
}

TEST(InodeTable, ReservedNumbersAreInvalid) {
  Containers containers;
  containers.add("a", 100);
  containers.add("b", 100);
  EXPECT_FALSE(containers.inodes.find(0));
  EXPECT_FALSE(containers.inodes.find(1));
}

TEST(InodeTable, ContainerHasTheSameNumbersInEveryMount) {
  Containers alone;
  alone.add("b", 5000);
  Containers together;
  for (const char* name : {"a", "b", "c"}) together.add(name, 5000);
  EXPECT_EQ(alone.number(0, Node{}), together.number(1, Node{}));
}

TEST(InodeTable, RangesThatWouldOverlapAreMovedApart) {
  Containers containers;
  for (std::size_t i = 0; i < 20; ++i) containers.add("same name", 10000);
  for (std::size_t i = 0; i < 20; ++i) {
    containers.expect_round_trip(i, {NodeKind::kRecord, 0});
    containers.expect_round_trip(i, {NodeKind::kRecord, 10000});
  }
}

TEST(InodeTable, LargeRangesStayWithinTheNumberSpace) {
  Containers containers;
  const std::uint64_t quarter = std::uint64_t{1} << (kValueBits - 2);
  for (int i = 0; i < 3; ++i) containers.add("name", quarter - 5000);
  for (std::size_t i = 0; i < 3; ++i) {
    containers.expect_round_trip(i, {NodeKind::kAttribute, 0});
    containers.expect_round_trip(i, {NodeKind::kAttribute, quarter - 5000});
  }
}

TEST(InodeTable, ManyContainersOfTheMostValuesNeverShareANumber) {
  for (const std::size_t count : {1u, 2u, 5u, 9u, 64u}) {
    Containers containers;
    const std::uint64_t most = (std::uint64_t{1} << InodeTable::value_bits(count)) - 1;
    for (std::size_t i = 0; i < count; ++i) containers.add("file " + std::to_string(i), most + 100);
    for (std::size_t i = 0; i < count; ++i) {
      containers.expect_round_trip(i, {NodeKind::kRecord, 0});
      containers.expect_round_trip(i, {NodeKind::kRecord, most});
    }
  }
}

TEST(InodeTable, RangeIsAtTheWantedPositionUnlessTaken) {
  InodeTable inodes;
  EXPECT_EQ(inodes.add(1, {50000, 1000}), 50000u);
  EXPECT_EQ(inodes.add(1, {7, 1000}), 50000u) << "it has one";
  EXPECT_EQ(inodes.add(2, {49500, 1000}), 51000u);
  EXPECT_EQ(inodes.find(50999)->container, 1u);
  EXPECT_EQ(inodes.find(50999)->node.value, 999u);
  EXPECT_EQ(inodes.find(51000)->container, 2u);
  EXPECT_FALSE(inodes.find(52000));
  EXPECT_FALSE(inodes.find(49999));
  inodes.remove(1);
  EXPECT_FALSE(inodes.find(50000));
  EXPECT_EQ(inodes.add(3, {50000, 1000}), 50000u);
}

TEST(InodeTable, AddWrapsAroundAndFailsWhenFull) {
  InodeTable inodes;
  EXPECT_EQ(inodes.add(1, {kValuesOfAKind - 1000, 1000}), kValuesOfAKind - 1000);
  EXPECT_EQ(inodes.add(2, {kValuesOfAKind - 500, 1000}), 4096u);
  EXPECT_EQ(inodes.add(3, {4096, kValuesOfAKind / 2}), 5096u);
  EXPECT_FALSE(inodes.add(4, {4096, kValuesOfAKind / 2}));
  inodes.remove(3);
  EXPECT_TRUE(inodes.add(4, {4096, kValuesOfAKind / 2}));
}

TEST(InodeTable, KeyAndRecordOfTheSameNumberAreDistinct) {
  InodeTable inodes;
  const std::uint64_t number = UINT64_MAX;
  const std::uint64_t key = inodes.look_up_and_reference(0, {NodeKind::kKey, number});
  const std::uint64_t inside = inodes.look_up_and_reference(0, part(number, 0));
  EXPECT_NE(key, inside);
  EXPECT_EQ(inodes.find(key)->node, (Node{NodeKind::kKey, number}));
  EXPECT_EQ(inodes.find(inside)->node, part(number, 0));
  EXPECT_EQ(inodes.look_up_and_reference(0, {NodeKind::kKey, number}), key);
  inodes.forget(key, 2);
  EXPECT_EQ(inodes.find(key), std::nullopt);
  EXPECT_EQ(inodes.rows(), 1u);
}

TEST(InodeTable, NumberFindsWhatItWasAssignedTo) {
  InodeTable inodes;
  const std::uint64_t largest = (std::uint64_t{1} << 58) - 1;
  const std::uint64_t last_part = (std::uint64_t{1} << 24) - 1;
  for (const std::size_t container : {std::size_t{0}, std::size_t{7}}) {
    for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1}, largest}) {
      for (const std::uint64_t number : {std::uint64_t{1}, last_part}) {
        const std::uint64_t given = inodes.look_up_and_reference(container, part(address, number));
        const auto found = inodes.find(given);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->container, container);
        EXPECT_EQ(found->node, part(address, number));
      }
    }
  }
  EXPECT_EQ(inodes.rows(), 6u);
}

TEST(InodeTable, PartKeepsItsNumberWhileItsRecordIsKnown) {
  InodeTable inodes;
  const std::uint64_t first = inodes.look_up_and_reference(0, part(5, 1));
  const std::uint64_t second = inodes.look_up_and_reference(0, part(5, 2));
  EXPECT_NE(first, second);
  EXPECT_EQ(inodes.look_up_and_reference(0, part(5, 1)), first);
  inodes.forget(first, 2);
  EXPECT_EQ(inodes.look_up_and_reference(0, part(5, 1)), first);
  EXPECT_EQ(inodes.rows(), 1u);
}

TEST(InodeTable, RowIsRemovedWithTheLastLookup) {
  InodeTable inodes;
  const std::uint64_t first = inodes.look_up_and_reference(0, part(5, 1));
  inodes.look_up_and_reference(0, part(5, 1));
  const std::uint64_t second = inodes.look_up_and_reference(0, part(5, 2));
  inodes.forget(first, 2);
  EXPECT_TRUE(inodes.find(second));
  inodes.forget(second, 1);
  EXPECT_FALSE(inodes.find(second));
  EXPECT_EQ(inodes.rows(), 0u);
}

TEST(InodeTable, FreedNumberIsNotReusedAtOnce) {
  InodeTable inodes;
  const std::uint64_t old = inodes.look_up_and_reference(0, part(5, 1));
  inodes.forget(old, 1);
  EXPECT_NE(inodes.look_up_and_reference(0, part(6, 1)), old);
  EXPECT_FALSE(inodes.find(old));
}

TEST(InodeTable, UnassignedNumberIsUninodesAndCannotBeForgotten) {
  InodeTable inodes;
  const std::uint64_t given = inodes.look_up_and_reference(0, part(5, 1));
  for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{1}, given + (std::uint64_t{1} << 24), ~given,
                                    given & ~(std::uint64_t{31} << kValueBits)}) {
    EXPECT_FALSE(inodes.find(other)) << other;
    inodes.forget(other, 1);
  }
  EXPECT_TRUE(inodes.find(given));
  inodes.forget(given, 1000);
  EXPECT_EQ(inodes.rows(), 0u);
}

TEST(InodeTable, ThreadsLookUpAndForgetTheSameRecords) {
  InodeTable inodes;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&inodes] {
        for (std::uint64_t i = 0; i < 5000; ++i) {
          const Node wanted = part(i % 3, 1 + i % 5);
          const std::uint64_t given = inodes.look_up_and_reference(0, wanted);
          EXPECT_EQ(inodes.find(given)->node, wanted);
          inodes.forget(given, 1);
        }
      });
    }
  }
  EXPECT_EQ(inodes.rows(), 0u);
}

}  // namespace
}  // namespace recordfs
