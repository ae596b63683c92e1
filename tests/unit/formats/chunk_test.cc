#include "core/formats/chunk.h"

#include <gtest/gtest.h>

#include "tests/unit/support/counted_allocations.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kFourGiB = 1ull << 32;

Layout layout_of(std::initializer_list<std::uint64_t> sizes, std::uint64_t first_begin = 0) {
  Layout layout(first_begin);
  for (const std::uint64_t size : sizes) layout.add({}, size);
  return layout;
}

TEST(Layout, LayoutWithoutRecordsIsEmpty) {
  const Layout layout(7);
  EXPECT_EQ(layout.records(), 0u);
  EXPECT_EQ(layout.end(), 7u);
  EXPECT_EQ(layout.total(), 0u);
  EXPECT_EQ(layout.index_at(0), 0u);
}

TEST(Layout, RecordsAreConsecutiveFromTheFirstBegin) {
  const Layout layout = layout_of({3, 0, 5}, 10);
  EXPECT_EQ(layout.extent(0).begin, 10u);
  EXPECT_EQ(layout.extent(1).begin, 13u);
  EXPECT_EQ(layout.extent(1).size, 0u);
  EXPECT_EQ(layout.extent(2).begin, 13u);
  EXPECT_EQ(layout.extent(2).size, 5u);
  EXPECT_EQ(layout.end(), 18u);
  EXPECT_EQ(layout.total(), 8u);
}

TEST(Layout, IndexAtSkipsEmptyRecords) {
  const Layout layout = layout_of({3, 0, 5, 0});
  EXPECT_EQ(layout.index_at(0), 0u);
  EXPECT_EQ(layout.index_at(2), 0u);
  EXPECT_EQ(layout.index_at(3), 2u);
  EXPECT_EQ(layout.index_at(7), 2u);
  EXPECT_EQ(layout.index_at(8), 4u);
}

TEST(Layout, RecordsAfterFourGiBKeepTheirOffsets) {
  const Layout layout = layout_of({5, kFourGiB, 7});
  EXPECT_EQ(layout.records(), 3u);
  EXPECT_EQ(layout.extent(1).begin, 5u);
  EXPECT_EQ(layout.extent(1).size, kFourGiB);
  EXPECT_EQ(layout.extent(2).begin, kFourGiB + 5);
  EXPECT_EQ(layout.index_at(4), 0u);
  EXPECT_EQ(layout.index_at(5), 1u);
  EXPECT_EQ(layout.index_at(kFourGiB + 4), 1u);
  EXPECT_EQ(layout.index_at(kFourGiB + 5), 2u);
  EXPECT_EQ(layout.index_at(kFourGiB + 12), 3u);
}

TEST(Layout, OffsetsAreExactAroundFourGiB) {
  const Layout layout = layout_of({kFourGiB - 1, 1, 1});
  EXPECT_EQ(layout.extent(1).begin, kFourGiB - 1);
  EXPECT_EQ(layout.extent(2).begin, kFourGiB);
  EXPECT_EQ(layout.index_at(kFourGiB - 2), 0u);
  EXPECT_EQ(layout.index_at(kFourGiB - 1), 1u);
  EXPECT_EQ(layout.index_at(kFourGiB), 2u);
}

TEST(Layout, FailedRecordKeepsItsDeclaredSizeAndReason) {
  Layout layout = layout_of({3});
  layout.add_failed({}, 4, Error{.code = Code::kDamage, .detail = "why"});
  layout.add({}, 2);
  EXPECT_TRUE(layout.has_failures());
  EXPECT_EQ(layout.failure(0), nullptr);
  ASSERT_NE(layout.failure(1), nullptr);
  EXPECT_EQ(layout.failure(1)->detail, "why");
  EXPECT_EQ(layout.extent(2).begin, 7u);
  EXPECT_EQ(layout.total(), 9u);
}

TEST(Layout, RecordsThatFailForOneReasonShareIt) {
  Layout layout = layout_of({3});
  layout.add_failed({}, 100000, 1, Error{.code = Code::kDamage, .detail = "why"});
  layout.add({}, 2);
  layout.add_failed({}, 7, Error{.code = Code::kDamage, .detail = "another"});
  EXPECT_EQ(layout.failure(0), nullptr);
  ASSERT_NE(layout.failure(1), nullptr);
  EXPECT_EQ(layout.failure(1), layout.failure(100000));
  EXPECT_EQ(layout.failure(100001), nullptr);
  EXPECT_EQ(layout.failure(100002)->detail, "another");
  EXPECT_EQ(layout.total(), 3u + 100000 + 2 + 7);
  EXPECT_LT(layout.memory(), 1u << 20);
}

TEST(Layout, ConsecutiveRecordsWithTheSameFailureAreStoredOnce) {
  Layout layout;
  const Error one{.code = Code::kDamage, .position = 7, .detail = "a reason that is too long for a small string"};
  const Error other{.code = Code::kUnfinished, .position = 7, .detail = one.detail};
  for (std::uint64_t size = 0; size < 10000; ++size) layout.add_failed({}, size, one);
  layout.add({}, 1);
  layout.add_failed({}, 1, one);
  layout.add_failed({}, 1, other);
  EXPECT_LT(layout.memory(), 100000u);
  EXPECT_EQ(layout.failure(0)->code, Code::kDamage);
  EXPECT_EQ(layout.failure(9999)->code, Code::kDamage);
  EXPECT_EQ(layout.failure(10000), nullptr);
  EXPECT_EQ(layout.failure(10001)->code, Code::kDamage);
  EXPECT_EQ(layout.failure(10002)->code, Code::kUnfinished);
}

TEST(Layout, MemoryGrowsByAboutFourBytesPerRecord) {
  Layout layout;
  layout.reserve({}, 10000);
  for (int i = 0; i < 10000; ++i) layout.add({}, 100);
  EXPECT_GE(layout.memory(), 40000u);
  EXPECT_LT(layout.memory(), 41000u);
}

TEST(Layout, LargeGrowthIsAnnouncedBeforehand) {
  testing::CountedAllocations allocations;
  const RequestContext context = RequestContext().with(allocations);
  for (const std::uint64_t first_begin : {std::uint64_t{0}, kFourGiB}) {
    const std::uint64_t size_of_end = first_begin == 0 ? 4 : 8;
    Layout layout(first_begin);
    for (std::uint64_t i = 0; i < RequestContext::kLargeAllocation / 2 / size_of_end; ++i) layout.add(context, 0);
    EXPECT_EQ(allocations.take(), 0) << first_begin;
    layout.add(context, 0);
    EXPECT_EQ(allocations.take(), 1) << first_begin;
  }
}

TEST(BufferChunk, SliceKeepsTheChunkAlive) {
  auto chunk = std::make_shared<BufferChunk>(Buffer::copy_of({}, as_bytes("abcdef")).value(), layout_of({2, 4}));
  const Slice slice = chunk->read({}, 2, 4).value();
  chunk.reset();
  EXPECT_EQ(as_text(slice.bytes), "cdef");
}

TEST(BufferChunk, EmptyReadAtTheEndIsEmpty) {
  const auto chunk = std::make_shared<BufferChunk>(Buffer::copy_of({}, as_bytes("ab")).value(), layout_of({2}));
  EXPECT_EQ(chunk->payload_size(), 2u);
  EXPECT_TRUE(chunk->read({}, 2, 0).value().bytes.empty());
}

TEST(BufferChunk, MemoryCountsThePayload) {
  const auto chunk = std::make_shared<BufferChunk>(Buffer::allocate({}, 100000).value(), layout_of({100000}));
  EXPECT_GE(chunk->memory(), 100000u);
}

}  // namespace
}  // namespace recordfs
