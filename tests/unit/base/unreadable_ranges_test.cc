#include "core/base/unreadable_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "core/base/read_window.h"
#include "core/base/source.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kDiskBlock = 512;

struct BadRange {
  Position begin, end;
};

// A disk that cannot read some bytes, and counts the reads that fail. All other bytes are 1.
class BadDisk final : public Source {
 public:
  // `tells`: whether a failure names its place, as the kernel does, instead of the begin of the read.
  BadDisk(std::uint64_t size, std::vector<BadRange> ranges, bool tells = true)
      : bad(std::move(ranges)), size_(size), tells_(tells) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - std::min(at, size_)));
    for (const BadRange& range : bad) {
      if (at >= range.end || at + there <= range.begin) continue;
      ++failed;
      const Position place = tells_ ? std::max(at, range.begin) : at;
      return Error{.code = Code::kIo, .position = place, .detail = "cannot read", .os_error = EIO};
    }
    std::ranges::fill(out.first(there), std::byte{1});
    return there;
  }

  std::vector<BadRange> bad;
  mutable int failed = 0;

 private:
  const std::uint64_t size_;
  const bool tells_;
};

BadRange found_in(const BadDisk& disk, Position begin, Position end) {
  const auto found = find_unreadable({}, disk, begin, end);
  if (!found || !*found) return {0, 0};
  EXPECT_EQ((*found)->os_error, EIO);
  return {(*found)->begin, (*found)->end};
}

TEST(FindUnreadable, SectorEndsAtTheNextBlock) {
  const BadDisk disk(1u << 20, {{8192, 8704}});
  const BadRange found = found_in(disk, 8192, 1u << 20);
  EXPECT_EQ(found.begin, 8192u);
  EXPECT_EQ(found.end, 8704u);
  EXPECT_EQ(disk.failed, 1);
}

TEST(FindUnreadable, BeginIsFoundIfTheFailureDoesNotNameIt) {
  const BadDisk disk(1u << 20, {{700000, 700001}}, false);
  const BadRange found = found_in(disk, 0, 1u << 20);
  EXPECT_LE(found.begin, 700000u);
  EXPECT_GT(found.begin + kDiskBlock, 700000u);
  EXPECT_GT(found.end, 700000u);
  EXPECT_LE(found.end, 700000u + 2 * kDiskBlock);
}

TEST(FindUnreadable, LargeRangeTakesFewFailingReads) {
  const BadDisk disk(1u << 30, {{kDiskBlock, 600u << 20}});
  const BadRange found = found_in(disk, kDiskBlock, 1u << 20);
  EXPECT_EQ(found.begin, kDiskBlock);
  EXPECT_EQ(found.end, 600u << 20);
  EXPECT_LT(disk.failed, 50);
}

TEST(FindUnreadable, RangeMayReachTheEnd) {
  const BadDisk disk((1u << 20) + 17, {{kDiskBlock, 1u << 30}});
  EXPECT_EQ(found_in(disk, kDiskBlock, 2 * kDiskBlock).end, (1u << 20) + 17);
  EXPECT_LT(disk.failed, 25);
}

TEST(FindUnreadable, BytesThatCanBeReadNowAreNone) {
  const BadDisk disk(1u << 20, {});
  const auto found = find_unreadable({}, disk, 0, 1u << 20);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST(UnreadableRanges, RangesThatTouchAreJoined) {
  UnreadableRanges ranges;
  ranges.add({10, 20, EIO});
  ranges.add({40, 50, EIO});
  ranges.add({20, 30, EIO});
  EXPECT_EQ(ranges.first_in(0, 100)->end, 30u);
  EXPECT_EQ(ranges.first_in(30, 100)->begin, 40u);
  EXPECT_FALSE(ranges.first_in(30, 40));
  ranges.add({25, 45, EIO});
  EXPECT_EQ(ranges.first_in(0, 100)->end, 50u);
}

TEST(UnreadableRanges, ErrorNamesTheFirstAndCountsTheOthers) {
  UnreadableRanges ranges;
  ranges.add({10, 20, EIO});
  ranges.add({40, 50, EIO});
  EXPECT_EQ(ranges.error_in(0, 30)->detail, "bytes 10 to 20 cannot be read: Input/output error");
  EXPECT_EQ(ranges.error_in(0, 60)->detail, "bytes 10 to 20 cannot be read: Input/output error (and 1 more range)");
  EXPECT_EQ(ranges.error_in(0, 60)->code, Code::kUnreadable);
  EXPECT_FALSE(ranges.error_in(20, 40));
}

class FindingSource : public ::testing::Test {
 protected:
  const std::shared_ptr<BadDisk> disk = std::make_shared<BadDisk>(1u << 20, std::vector<BadRange>{{8192, 8704}});
  const WindowedSource source{disk, nullptr, WindowedSource::OnUnreadable::kFind};
};

TEST_F(FindingSource, ReadOfBadBytesFailsOnceAtTheDisk) {
  std::vector<std::byte> out(100000);
  const auto first = source.read_at({}, 0, out);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::kUnreadable);
  EXPECT_EQ(first.error().position, 8192u);
  const int failed = disk->failed;
  EXPECT_FALSE(source.read_at({}, 8600, out));
  EXPECT_EQ(disk->failed, failed);
  EXPECT_TRUE(source.read_at({}, 8704, out));
  EXPECT_TRUE(source.unreadable_in(0, 1u << 20));
}

TEST_F(FindingSource, OtherBytesOfAFilledReadAreThoseOfTheDisk) {
  std::vector<std::byte> out(100000);
  const auto got = source.read_at(RequestContext().filling_unreadable(), 0, out);
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], i >= 8192 && i < 8704 ? kUnreadableFill : std::byte{1}) << i;
  }
}

TEST_F(FindingSource, WindowNeverHasFilledBytes) {
  ReadWindow window({}, source);
  const RequestContext context = RequestContext().with(window);
  std::vector<std::byte> out(24);
  for (Position at = 0; at < 20000; at += 24) EXPECT_TRUE(source.read_at(context.filling_unreadable(), at, out));
  EXPECT_FALSE(source.read_at(context, 8200, out));
  EXPECT_FALSE(source.view_at(context, 8200, 24));
  EXPECT_TRUE(source.view_at(context.filling_unreadable(), 8200, 24));
}

TEST_F(FindingSource, PassingFaultIsNoUnreadableRange) {
  const int before = disk->failed;
  std::vector<std::byte> out(24);
  EXPECT_FALSE(source.read_at({}, 8192, out));
  disk->bad.clear();
  EXPECT_GT(disk->failed, before);
  EXPECT_FALSE(source.read_at({}, 8192, out));  // known, so the disk is not asked again
  const WindowedSource other(disk, nullptr, WindowedSource::OnUnreadable::kFind);
  EXPECT_TRUE(other.read_at({}, 8192, out));
}

TEST(FailingSource, FailureIsRepeatedAtEachRead) {
  const auto disk = std::make_shared<BadDisk>(1u << 20, std::vector<BadRange>{{8192, 8704}});
  const WindowedSource source(disk);
  std::vector<std::byte> out(24);
  const auto got = source.read_at(RequestContext().filling_unreadable(), 8192, out);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kIo);
  disk->bad.clear();
  EXPECT_TRUE(source.read_at({}, 8192, out));
}

}  // namespace
}  // namespace recordfs
