#include "core/base/read_window.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace recordfs {
namespace {

struct Read {
  Position at;
  std::uint64_t size;
  bool operator==(const Read&) const = default;
};

// Returns bytes that depend on their offset, records the reads, and fails on request.
class NotingSource final : public Source {
 public:
  explicit NotingSource(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    reads.push_back({at, out.size()});
    const std::size_t there =
        at < size_ ? static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - at)) : 0;
    if (at <= bad_sector && bad_sector - at < there) return Error{Code::kIo, bad_sector, "bad sector"};
    for (std::size_t i = 0; i < there; ++i) out[i] = byte_at(at + i);
    return there;
  }
  static std::byte byte_at(Position at) { return static_cast<std::byte>((at * 0x9E3779B97F4A7C15u) >> 56); }

  mutable std::vector<Read> reads;
  Position bad_sector = UINT64_MAX;

 private:
  const std::uint64_t size_;
};

struct Windowed {
  explicit Windowed(std::uint64_t size) : below(std::make_shared<NotingSource>(size)), source(below) {}

  // Returns the size of a read after checking every byte, or nullopt if it fails.
  std::optional<std::size_t> read(const RequestContext& context, Position at, std::size_t size) const {
    std::vector<std::byte> out(size);
    const auto got = source.read_at(context, at, out);
    if (!got) return std::nullopt;
    for (std::size_t i = 0; i < *got; ++i) EXPECT_EQ(out[i], NotingSource::byte_at(at + i)) << at + i;
    return *got;
  }
  std::uint64_t bytes_read() const {
    std::uint64_t sum = 0;
    for (const Read& one : below->reads) sum += one.size;
    return sum;
  }

  std::shared_ptr<NotingSource> below;
  WindowedSource source;
};

TEST(ReadWindow, ShortStepsShareLargeReads) {
  const Windowed windowed(10u << 20);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at < 10u << 20; at += 600)
    EXPECT_EQ(windowed.read(context, at, 24), std::min<Position>(24, (10u << 20) - at));
  EXPECT_LT(windowed.below->reads.size(), 30u);
  EXPECT_LT(windowed.bytes_read(), (10u << 20) + (64u << 10));
  for (const Read& one : windowed.below->reads) EXPECT_LE(one.size, ReadWindow::kLargest);
}

TEST(ReadWindow, LargeStepsReadOnlyTheRequestedBytes) {
  const Windowed windowed(1u << 30);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  std::vector<Read> wanted;
  for (Position at = 0; at < 1u << 30; at += 64u << 10) {
    wanted.push_back({at, 41});
    EXPECT_EQ(windowed.read(context, at, 41), 41u);
  }
  EXPECT_EQ(windowed.below->reads, wanted);
}

TEST(ReadWindow, OneShortStepAmongLongOnesDoesNotOpenAWindow) {
  const Windowed windowed(100u << 20);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at < 99u << 20; at += 1u << 20) {
    EXPECT_EQ(windowed.read(context, at, 41), 41u);
    EXPECT_EQ(windowed.read(context, at + 1000, 24), 24u);
  }
  EXPECT_EQ(windowed.bytes_read(), 99u * (41 + 24));
}

TEST(ReadWindow, WindowsAreSmallAgainAfterALongStep) {
  const Windowed windowed(1u << 30);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at < 8u << 20; at += 600) windowed.read(context, at, 24);
  windowed.below->reads.clear();
  for (Position at = 500u << 20; at < (500u << 20) + 3000; at += 600) windowed.read(context, at, 24);
  EXPECT_EQ(windowed.below->reads,
            (std::vector<Read>{{500u << 20, 24}, {(500u << 20) + 600, 24}, {(500u << 20) + 1200, ReadWindow::kFirst}}));
}

TEST(ReadWindow, LargeReadsBypassTheWindow) {
  const Windowed windowed(4u << 20);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at < 4u << 20; at += 1u << 20) EXPECT_EQ(windowed.read(context, at, 1u << 20), 1u << 20);
  EXPECT_EQ(windowed.bytes_read(), 4u << 20);
}

TEST(ReadWindow, ReadsOfAnySizeAtAnyPositionReturnTheBytesOfTheFile) {
  const std::uint64_t size = 300'007;
  const Windowed windowed(size);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  std::uint64_t state = 1;
  Position at = 0;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    at = (state >> 60) == 0 ? (state >> 20) % (size + 100) : at + (state >> 40) % 700;
    if (at > size + 500) at = 0;
    const std::size_t length = (state >> 30) % 400;
    EXPECT_EQ(windowed.read(context, at, length), at < size ? std::min<std::uint64_t>(length, size - at) : 0);
  }
}

TEST(ReadWindow, ViewsStayValidWhenTheWindowMovesOn) {
  const Windowed windowed(3u << 20);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  std::vector<std::pair<Position, Slice>> views;
  for (Position at = 0; at < 3u << 20; at += 16u << 10) {
    auto view = windowed.source.view_at(context, at, 32u << 10);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->bytes.size(), std::min<std::uint64_t>(32u << 10, (3u << 20) - at));
    views.emplace_back(at, *view);
  }
  for (const auto& [at, view] : views) {
    for (std::size_t i = 0; i < view.bytes.size(); i += 97) ASSERT_EQ(view.bytes[i], NotingSource::byte_at(at + i));
  }
}

TEST(ReadWindow, ReadsOfAViewedRangeNeedNoFurtherRead) {
  const Windowed windowed(3u << 20);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  for (const Position at : {Position{2u << 20}, Position{100}, Position{1u << 20}}) {
    ASSERT_TRUE(windowed.source.view_at(context, at, 40'000));
    for (const Position inside : {at + 39'000, at, at + 20'000}) EXPECT_EQ(windowed.read(context, inside, 1000), 1000u);
  }
  EXPECT_EQ(windowed.below->reads, (std::vector<Read>{{2u << 20, 40'000}, {100, 40'000}, {1u << 20, 40'000}}));
}

TEST(ReadWindow, LargeViewDoesNotMoveTheWindow) {
  const Windowed windowed(3u << 20);
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  ASSERT_TRUE(windowed.source.view_at(context, 5000, 1000));
  ASSERT_TRUE(windowed.source.view_at(context, 1u << 20, ReadWindow::kWhole));
  EXPECT_EQ(windowed.read(context, 5500, 500), 500u);
  EXPECT_EQ(windowed.below->reads.size(), 2u);
}

TEST(ReadWindow, FailedViewIsAnErrorAndLeavesTheWindowEmpty) {
  const Windowed windowed(1u << 20);
  windowed.below->bad_sector = 500'000;
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  EXPECT_FALSE(windowed.source.view_at(context, 490'000, 20'000));
  EXPECT_EQ(windowed.read(context, 490'000, 1000), 1000u);
  EXPECT_FALSE(windowed.read(context, 499'000, 2000));
}

TEST(ReadWindow, FailureAfterTheRequestedBytesIsIgnored) {
  const Windowed windowed(1u << 20);
  windowed.below->bad_sector = 500'000;
  ReadWindow window({}, windowed.source);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at + 24 <= 500'000; at += 600) EXPECT_EQ(windowed.read(context, at, 24), 24u) << at;
  EXPECT_EQ(windowed.read(context, 499'990, 24), std::nullopt);
  EXPECT_EQ(windowed.read(context, 500'001, 24), 24u);
}

TEST(ReadWindow, ServesOnlyItsOwnContextAndSource) {
  const Windowed windowed(1u << 20);
  const Windowed other(1u << 20);
  {
    ReadWindow window({}, windowed.source);
    const RequestContext outer = RequestContext().with(window);
    ReadWindow inner(outer, other.source);
    const RequestContext context = outer.with(inner);
    for (Position at = 0; at < 6000; at += 600) windowed.read(context, at, 24);
    EXPECT_EQ(windowed.below->reads.size(), 3u);
    EXPECT_TRUE(other.below->reads.empty());
    std::async(std::launch::async, [&] { windowed.read({}, 6000, 24); }).get();
    EXPECT_EQ(windowed.below->reads.back(), (Read{6000, 24}));
  }
  windowed.read({}, 6000, 24);
  windowed.read({}, 6024, 24);
  windowed.read({}, 6048, 24);
  EXPECT_EQ(windowed.below->reads.back(), (Read{6048, 24}));
}

TEST(ReadWindow, ViewAcrossPiecesOfAPassIsWhole) {
  constexpr Position kEnd = PrefetchBuffer::kPiece;
  const Windowed file(2 * kEnd);
  PrefetchBuffer pass(file.source);
  ReadWindow window({}, file.source, &pass);
  const RequestContext context = RequestContext().with(window);
  for (const RequestContext& any : {context, RequestContext()}) {
    const auto whole = file.source.view_at(any, kEnd - 10, 100);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->bytes.size(), 100u);
  }
  const auto beyond = file.source.view_at(context, 2 * kEnd, 100);
  EXPECT_TRUE(beyond && beyond->bytes.empty());
}

TEST(ReadWindow, ReadPastTheEndReturnsNoBytes) {
  const Windowed empty(0);
  ReadWindow window({}, empty.source);
  const RequestContext context = RequestContext().with(window);
  EXPECT_EQ(empty.read(context, 0, 10), 0u);
  EXPECT_EQ(empty.read(context, 5, 10), 0u);
  EXPECT_TRUE(empty.source.view_at(context, 0, 10)->bytes.empty());
}

}  // namespace
}  // namespace recordfs
