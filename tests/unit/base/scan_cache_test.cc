#include "core/base/scan_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/read_window.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kSource = 7;

ScanCache::Piece piece(Position begin, std::size_t size) {
  auto buffer = std::make_shared<Buffer>(std::move(*Buffer::allocate({}, size)));
  for (std::size_t i = 0; i < size; ++i) buffer->data()[i] = static_cast<std::byte>(begin + i);
  return {std::move(buffer), begin, begin, begin + size, 0};
}

TEST(ScanCache, PieceIsFoundAtEachOfItsBytes) {
  ScanCache kept(100);
  kept.keep(kSource, piece(50, 10));
  EXPECT_FALSE(kept.find(kSource, 49));
  EXPECT_FALSE(kept.find(kSource, 60));
  EXPECT_FALSE(kept.find(kSource + 1, 50));
  for (Position at = 50; at < 60; ++at) {
    const auto found = kept.find(kSource, at);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->from(at).size(), 60 - at);
    EXPECT_EQ(found->from(at)[0], static_cast<std::byte>(at));
  }
}

TEST(ScanCache, OverlappingPieceKeepsOnlyWhatIsNew) {
  ScanCache kept(100);
  kept.keep(kSource, piece(20, 10));
  kept.keep(kSource, piece(40, 10));
  kept.keep(kSource, piece(25, 20));
  const auto between = kept.find(kSource, 30);
  ASSERT_TRUE(between);
  EXPECT_EQ(between->begin, 30u);
  EXPECT_EQ(between->end, 40u);
  EXPECT_EQ(between->from(39)[0], std::byte{39});
  kept.keep(kSource, piece(20, 30));
  EXPECT_EQ(kept.bytes(), 40u);
}

TEST(ScanCache, CountsOnlyBytesOfTheRangeAndTheSource) {
  ScanCache kept(100);
  EXPECT_EQ(kept.count(kSource, 0, 100), 0u);
  kept.keep(kSource - 1, piece(0, 30));
  kept.keep(kSource, piece(20, 10));
  kept.keep(kSource, piece(40, 10));
  kept.keep(kSource + 1, piece(0, 30));
  EXPECT_EQ(kept.count(kSource, 0, 20), 0u);
  EXPECT_EQ(kept.count(kSource, 0, 100), 20u);
  EXPECT_EQ(kept.count(kSource, 25, 45), 10u);
  EXPECT_EQ(kept.count(kSource, 30, 40), 0u);
  EXPECT_EQ(kept.count(kSource, 50, 60), 0u);
}

TEST(ScanCache, PieceWithoutRoomIsNotKept) {
  ScanCache kept(25);
  kept.keep(kSource, piece(0, 10));
  kept.keep(kSource, piece(10, 10));
  kept.keep(kSource, piece(20, 10));
  EXPECT_EQ(kept.bytes(), 20u);
  EXPECT_TRUE(kept.find(kSource, 0));
  EXPECT_FALSE(kept.find(kSource, 20));
  kept.keep(kSource, piece(40, 26));
  EXPECT_EQ(kept.bytes(), 20u);
}

TEST(ScanCache, LaterSourceDisplacesAnEarlierOne) {
  ScanCache kept(20);
  kept.keep(kSource + 1, piece(0, 10));
  kept.keep(kSource, piece(0, 10));
  kept.keep(kSource + 1, piece(10, 10));
  EXPECT_FALSE(kept.find(kSource, 0));
  EXPECT_TRUE(kept.find(kSource + 1, 10));
  kept.keep(kSource, piece(0, 10));
  EXPECT_FALSE(kept.find(kSource, 0));
}

TEST(ScanCache, LowerLimitDropsTheFirstPieces) {
  ScanCache kept(30);
  for (const Position begin : {0u, 10u, 20u}) kept.keep(kSource, piece(begin, 10));
  kept.set_limit(15);
  EXPECT_EQ(kept.bytes(), 10u);
  EXPECT_TRUE(kept.find(kSource, 20));
  kept.set_limit(0);
  EXPECT_TRUE(kept.is_empty());
}

TEST(ScanCache, ForgottenSourceLeavesTheOthers) {
  ScanCache kept(30);
  kept.keep(kSource, piece(0, 10));
  kept.keep(kSource + 1, piece(0, 10));
  kept.forget(kSource);
  EXPECT_FALSE(kept.find(kSource, 0));
  EXPECT_EQ(kept.bytes(), 10u);
}

// Its bytes depend on their offset and on the generation.
class ChangingSource final : public Source {
 public:
  explicit ChangingSource(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    const std::size_t there = at < size_ ? std::min<std::size_t>(out.size(), static_cast<std::size_t>(size_ - at)) : 0;
    bytes_read += there;
    for (std::size_t i = 0; i < there; ++i) out[i] = byte_at(at + i);
    return there;
  }
  std::uint64_t generation() const override { return generation_; }
  Result<void> check_unchanged(const RequestContext&) const override {
    if (is_broken) return Error{Code::kChanged, 0, "the file was rewritten after it was opened"};
    return {};
  }
  std::byte byte_at(Position at) const {
    return static_cast<std::byte>(((at + generation_) * 0x9E3779B97F4A7C15u) >> 56);
  }
  void change() { ++generation_; }

  mutable std::uint64_t bytes_read = 0;
  bool is_broken = false;

 private:
  const std::uint64_t size_;
  std::uint64_t generation_ = 0;
};

class KeptWindows : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 5'000'011;

  // Reads headers, as a scan does.
  void scan(ReadWindow::After after) {
    ReadWindow window({}, source_, nullptr, after);
    for (Position at = 0; at < kSize; at += 500) check(RequestContext().with(window), at, 24);
  }
  void check(const RequestContext& context, Position at, std::size_t size) {
    std::vector<std::byte> out(size);
    const auto got = source_.read_at(context, at, out);
    ASSERT_TRUE(got);
    ASSERT_EQ(*got, std::min<std::uint64_t>(size, kSize - at));
    for (std::size_t i = 0; i < *got; ++i) {
      if (out[i] != file_->byte_at(at + i)) FAIL() << "wrong byte at " << at + i;
    }
  }
  // Reads the whole file with calls of several sizes. Returns the bytes that were read from the file.
  std::uint64_t read_all() {
    const std::uint64_t before = file_->bytes_read;
    std::size_t size = 1;
    for (Position at = 0; at < kSize; at += size, size = size * 3 % 700'001) check({}, at, size);
    return file_->bytes_read - before;
  }

  ScanCache kept_{kSize + (4u << 20)};
  std::shared_ptr<ChangingSource> file_ = std::make_shared<ChangingSource>(kSize);
  WindowedSource source_{file_, &kept_};
};

TEST_F(KeptWindows, ReadsAfterAScanReadNothingFromTheFile) {
  scan(ReadWindow::After::kKept);
  EXPECT_LT(file_->bytes_read, kSize + 1000);
  EXPECT_LT(read_all(), 1100u);  // the scan read its first headers without a window
}

TEST_F(KeptWindows, SecondScanReadsNothingFromTheFile) {
  scan(ReadWindow::After::kKept);
  const std::uint64_t before = file_->bytes_read;
  scan(ReadWindow::After::kDropped);
  EXPECT_LT(file_->bytes_read - before, 1100u);
}

TEST_F(KeptWindows, WindowThatDropsItsBytesKeepsNothing) {
  scan(ReadWindow::After::kDropped);
  EXPECT_TRUE(kept_.is_empty());
}

TEST_F(KeptWindows, ViewsOfKeptBytesReturnTheBytesOfTheFile) {
  scan(ReadWindow::After::kKept);
  for (Position at = 3000; at < kSize; at += 60'000) {
    const auto whole = source_.view_at({}, at, 100'000);
    ASSERT_TRUE(whole);
    ASSERT_EQ(whole->bytes.size(), std::min<std::uint64_t>(100'000, kSize - at));
    for (std::size_t i = 0; i < whole->bytes.size(); ++i) ASSERT_EQ(whole->bytes[i], file_->byte_at(at + i));
  }
}

TEST_F(KeptWindows, ViewWithAWindowInsideAKeptPieceReturnsTheBytesOfTheFile) {
  scan(ReadWindow::After::kKept);
  for (const std::uint64_t size : {100u, 10'000u}) {
    ReadWindow window({}, source_);
    for (Position at = 700'000; at < kSize; at += 900'000) {
      const auto view = source_.view_at(RequestContext().with(window), at, size);
      ASSERT_TRUE(view);
      ASSERT_EQ(view->bytes.size(), size);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(view->bytes[i], file_->byte_at(at + i)) << at + i;
    }
  }
}

TEST_F(KeptWindows, ViewOutlivesTheKeptPiece) {
  scan(ReadWindow::After::kKept);
  const auto view = source_.view_at({}, 100'000, 1000);
  ASSERT_TRUE(view);
  kept_.set_limit(0);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(view->bytes[i], file_->byte_at(100'000 + i));
}

TEST_F(KeptWindows, TouchedFileIsReadAgain) {
  scan(ReadWindow::After::kKept);
  file_->change();
  EXPECT_EQ(read_all(), kSize);
  EXPECT_TRUE(kept_.is_empty());
  scan(ReadWindow::After::kKept);
  EXPECT_LT(read_all(), 1100u);
}

TEST_F(KeptWindows, ReadOfKeptBytesFailsIfTheFileWasRewritten) {
  scan(ReadWindow::After::kKept);
  file_->is_broken = true;
  std::vector<std::byte> out(100);
  EXPECT_EQ(source_.read_at({}, 5000, out).error().code, Code::kChanged);
  EXPECT_EQ(source_.view_at({}, 5000, 100).error().code, Code::kChanged);
}

TEST_F(KeptWindows, StepsBackOverABlockReadLittleAgain) {
  ReadWindow window({}, source_, nullptr, ReadWindow::After::kKept);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at + 4000 < kSize; at += 4000) {
    check(context, at + 3999, 1);
    ASSERT_TRUE(source_.view_at(context, at, 4000));
  }
  EXPECT_LT(file_->bytes_read, kSize * 13 / 10);
}

}  // namespace
}  // namespace recordfs
