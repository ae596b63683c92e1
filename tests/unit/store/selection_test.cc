#include <gtest/gtest.h>

#include <optional>

#include "core/store/selection.h"
#include "tests/unit/store/toy_store.h"

namespace recordfs {
namespace {

using testing::ToyStore;

TEST(Selection, BeginsInTheChunkThatHoldsTheFirstRecord) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  const auto selection = select({.begin = 4, .end = 7}, *toy.store);
  ASSERT_TRUE(selection);
  ASSERT_TRUE(selection->from);
  EXPECT_EQ(selection->from->before.records, 3u);
  const OrdinalInterval first = selection->within(*selection->from);
  EXPECT_EQ(std::pair(first.begin, first.end), std::pair(std::uint64_t{1}, std::uint64_t{3}));
}

TEST(Selection, SelectionFromTheFirstRecordNeedsNoSearch) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  const auto selection = select({.begin = 0, .end = 100}, *toy.store);
  ASSERT_TRUE(selection);
  EXPECT_FALSE(selection->from);
  EXPECT_EQ(toy.store->index().state().totals.chunks, 0u) << "the catalog was not needed";
}

TEST(Selection, BeginAfterTheEndIsNotFoundAndAtTheEndIsEmpty) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  const auto past_end = select({.begin = 13, .end = std::nullopt}, *toy.store);
  ASSERT_FALSE(past_end);
  EXPECT_EQ(past_end.error().code, Code::kNotFound);
  EXPECT_EQ(past_end.error().detail, "no record 13 (there are 12)");
  const auto at = select({.begin = 12, .end = std::nullopt}, *toy.store);
  ASSERT_TRUE(at);
  EXPECT_TRUE(at->is_empty());
}

TEST(Selection, SingleRecordMustExist) {
  const ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  const auto last = select({.begin = -12, .is_one = true}, *toy.store);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->records.begin, 0u);
  for (const std::int64_t ordinal : {std::int64_t{12}, std::int64_t{-13}, INT64_MAX, INT64_MIN}) {
    const auto none = select({.begin = ordinal, .is_one = true}, *toy.store);
    ASSERT_FALSE(none) << ordinal;
    EXPECT_EQ(none.error().code, Code::kNotFound);
  }
}

TEST(Selection, DamageIsInsideOnlyBetweenSelectedRecords) {
  const Selection all{.records = {}};
  EXPECT_TRUE(all.lies_inside(0) && all.lies_inside(12));
  const Selection some{.records = {.begin = 3, .end = 6}};
  EXPECT_FALSE(some.lies_inside(3) || some.lies_inside(6));
  EXPECT_TRUE(some.lies_inside(4) && some.lies_inside(5));
  const Selection first{.records = {.begin = 0, .end = 1}};
  EXPECT_TRUE(first.lies_inside(0));
}

}  // namespace
}  // namespace recordfs
