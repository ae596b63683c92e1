#include "fusefs/tree/known_records.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace recordfs {
namespace {

Node part(std::uint64_t address, std::uint64_t number) { return {NodeKind::kPart, address, number}; }

TEST(KnownRecords, KeyAndRecordOfTheSameNumberAreDistinct) {
  KnownRecords known;
  const std::uint64_t number = UINT64_MAX;
  const std::uint64_t key = known.look_up_and_reference(0, {NodeKind::kKey, number});
  const std::uint64_t inside = known.look_up_and_reference(0, part(number, 0));
  EXPECT_NE(key, inside);
  EXPECT_EQ(known.find(key)->node, (Node{NodeKind::kKey, number}));
  EXPECT_EQ(known.find(inside)->node, part(number, 0));
  EXPECT_EQ(known.look_up_and_reference(0, {NodeKind::kKey, number}), key);
  known.forget(key, 2);
  EXPECT_EQ(known.find(key), std::nullopt);
  EXPECT_EQ(known.rows(), 1u);
}

TEST(KnownRecords, NumberFindsWhatItWasAssignedTo) {
  KnownRecords known;
  const std::uint64_t largest = (std::uint64_t{1} << 58) - 1;
  const std::uint64_t last_part = (std::uint64_t{1} << 24) - 1;
  for (const std::size_t container : {std::size_t{0}, std::size_t{7}}) {
    for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1}, largest}) {
      for (const std::uint64_t number : {std::uint64_t{1}, last_part}) {
        const std::uint64_t given = known.look_up_and_reference(container, part(address, number));
        EXPECT_TRUE(KnownRecords::is_known(given));
        const auto found = known.find(given);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->container, container);
        EXPECT_EQ(found->node, part(address, number));
      }
    }
  }
  EXPECT_EQ(known.rows(), 6u);
}

TEST(KnownRecords, PartKeepsItsNumberWhileItsRecordIsKnown) {
  KnownRecords known;
  const std::uint64_t first = known.look_up_and_reference(0, part(5, 1));
  const std::uint64_t second = known.look_up_and_reference(0, part(5, 2));
  EXPECT_NE(first, second);
  EXPECT_EQ(known.look_up_and_reference(0, part(5, 1)), first);
  known.forget(first, 2);
  EXPECT_EQ(known.look_up_and_reference(0, part(5, 1)), first);
  EXPECT_EQ(known.rows(), 1u);
}

TEST(KnownRecords, RowIsRemovedWithTheLastLookup) {
  KnownRecords known;
  const std::uint64_t first = known.look_up_and_reference(0, part(5, 1));
  known.look_up_and_reference(0, part(5, 1));
  const std::uint64_t second = known.look_up_and_reference(0, part(5, 2));
  known.forget(first, 2);
  EXPECT_TRUE(known.find(second));
  known.forget(second, 1);
  EXPECT_FALSE(known.find(second));
  EXPECT_EQ(known.rows(), 0u);
}

TEST(KnownRecords, FreedNumberIsNotReusedAtOnce) {
  KnownRecords known;
  const std::uint64_t old = known.look_up_and_reference(0, part(5, 1));
  known.forget(old, 1);
  EXPECT_NE(known.look_up_and_reference(0, part(6, 1)), old);
  EXPECT_FALSE(known.find(old));
}

TEST(KnownRecords, UnassignedNumberIsUnknownAndCannotBeForgotten) {
  KnownRecords known;
  const std::uint64_t given = known.look_up_and_reference(0, part(5, 1));
  for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{1}, given + (std::uint64_t{1} << 24), ~given,
                                    given & ~(std::uint64_t{31} << kValueBits)}) {
    EXPECT_FALSE(known.find(other)) << other;
    known.forget(other, 1);
  }
  EXPECT_TRUE(known.find(given));
  known.forget(given, 1000);
  EXPECT_EQ(known.rows(), 0u);
}

TEST(KnownRecords, ThreadsLookUpAndForgetTheSameRecords) {
  KnownRecords known;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&known] {
        for (std::uint64_t i = 0; i < 5000; ++i) {
          const Node wanted = part(i % 3, 1 + i % 5);
          const std::uint64_t given = known.look_up_and_reference(0, wanted);
          EXPECT_EQ(known.find(given)->node, wanted);
          known.forget(given, 1);
        }
      });
    }
  }
  EXPECT_EQ(known.rows(), 0u);
}

}  // namespace
}  // namespace recordfs
