#include "core/base/buffer.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace recordfs {
namespace {

TEST(Buffer, EmptyBufferAllocatesNothing) {
  auto buffer = Buffer::allocate({}, 0);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(buffer->empty());
  EXPECT_EQ(buffer->data(), nullptr);
}

TEST(Buffer, ImpossibleSizeIsAnErrorNotAnException) {
  for (const std::size_t size : {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() / 2,
                                 std::numeric_limits<std::size_t>::max() / 4}) {
    auto buffer = Buffer::allocate({}, size);
    ASSERT_FALSE(buffer) << size;
    EXPECT_EQ(buffer.error().code, Code::kOutOfMemory);
  }
}

TEST(Buffer, GrowingKeepsTheBytes) {
  Buffer buffer;
  ASSERT_TRUE(buffer.grow({}, 0));
  EXPECT_TRUE(buffer.empty());
  ASSERT_TRUE(buffer.grow({}, 6));
  std::ranges::copy(as_bytes("record"), buffer.data());
  ASSERT_TRUE(buffer.grow({}, std::size_t{32} << 20));
  EXPECT_EQ(buffer.size(), std::size_t{32} << 20);
  EXPECT_EQ(as_text(buffer.view().first(6)), "record");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Their realloc() always copies.
TEST(Buffer, GrowingALargeBufferNeedsItsMemoryOnce) {
  constexpr std::size_t kSize = std::size_t{192} << 20;
  struct rusage before {
  }, after{};
  ::getrusage(RUSAGE_SELF, &before);
  auto buffer = Buffer::allocate({}, kSize);
  ASSERT_TRUE(buffer);
  std::ranges::fill(buffer->span(), std::byte{1});
  ASSERT_TRUE(buffer->grow({}, kSize + kSize / 4));
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(buffer->view()[kSize - 1], std::byte{1});
  EXPECT_LT((after.ru_maxrss - before.ru_maxrss) * 1024, static_cast<long>(kSize + kSize / 2));
}
#endif

TEST(Buffer, FailedGrowthKeepsTheOldBytes) {
  auto buffer = Buffer::copy_of({}, as_bytes("record"));
  ASSERT_TRUE(buffer);
  const auto grown = buffer->grow({}, std::numeric_limits<std::size_t>::max());
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error().code, Code::kOutOfMemory);
  EXPECT_EQ(as_text(buffer->view()), "record");
}

TEST(Buffer, ShrinkToFitKeepsTheBytes) {
  auto buffer = Buffer::allocate({}, std::size_t{32} << 20);
  ASSERT_TRUE(buffer);
  std::ranges::copy(as_bytes("record"), buffer->data());
  buffer->truncate(6);
  buffer->fit();
  EXPECT_EQ(as_text(buffer->view()), "record");
  buffer->truncate(0);
  buffer->fit();
  EXPECT_TRUE(buffer->empty());
}

TEST(Buffer, ReleasedPagesLeaveTheOtherBytesUnchanged) {
  constexpr std::size_t kSize = std::size_t{64} << 20;
  auto buffer = Buffer::allocate({}, kSize);
  ASSERT_TRUE(buffer);
  std::memset(buffer->data(), 7, kSize);
  buffer->release(100, kSize / 2 + 100);
  EXPECT_EQ(buffer->size(), kSize);
  EXPECT_TRUE(std::ranges::all_of(buffer->view().first(100), [](std::byte byte) { return byte == std::byte{7}; }));
  EXPECT_TRUE(std::ranges::all_of(buffer->view().subspan(kSize / 2 + 100),
                                  [](std::byte byte) { return byte == std::byte{7}; }));
}

TEST(Buffer, MovedFromBufferIsEmpty) {
  auto from = Buffer::copy_of({}, as_bytes("record"));
  ASSERT_TRUE(from);
  Buffer constructed(std::move(*from));
  EXPECT_TRUE(from->view().empty());
  EXPECT_EQ(as_text(constructed.view()), "record");
  Buffer assigned;
  assigned = std::move(constructed);
  EXPECT_TRUE(constructed.view().empty());
  EXPECT_EQ(as_text(assigned.view()), "record");
}

TEST(Slice, OwnsTheBufferItWasMadeFrom) {
  auto buffer = Buffer::copy_of({}, as_bytes("record"));
  ASSERT_TRUE(buffer);
  const std::byte* const place = buffer->data();
  const Slice slice = owned(std::move(*buffer));
  EXPECT_EQ(as_text(slice.bytes), "record");
  EXPECT_EQ(slice.bytes.data(), place);
  EXPECT_TRUE(slice.owner);
  EXPECT_TRUE(owned(Buffer()).bytes.empty());
}

}  // namespace
}  // namespace recordfs
