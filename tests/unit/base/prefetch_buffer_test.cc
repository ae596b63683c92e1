#include "core/base/prefetch_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/read_window.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kPiece = PrefetchBuffer::kPiece;

struct CountedRead {
  Position at;
  std::uint64_t size;
  bool operator==(const CountedRead&) const = default;
};

// Gives bytes that depend on their position, notes each read, and fails at a bad sector. Zeros from `hole` on. With
// `island`, only so many bytes at each multiple of 4 pieces are data, and all others are holes.
class CountedSource final : public Source {
 public:
  explicit CountedSource(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    {
      const std::lock_guard lock(mutex_);
      reads_.push_back({at, out.size()});
    }
    const auto there = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - std::min(at, size_)));
    if (at <= bad_sector && bad_sector - at < there) return Error{Code::kIo, bad_sector, "bad sector"};
    for (std::size_t i = 0; i < there; ++i) out[i] = byte_at(at + i);
    return there;
  }
  std::byte byte_at(Position at) const {
    if (at >= hole || at % kIslandDistance >= island) return std::byte{0};
    return static_cast<std::byte>((at * 0x9E3779B97F4A7C15u) >> 56);
  }
  Result<Position> next_data(const RequestContext&, Position at) const override {
    if (at % kIslandDistance < island) return std::min(at, size_);
    return std::min((at / kIslandDistance + 1) * kIslandDistance, size_);
  }
  std::vector<CountedRead> reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }
  std::uint64_t bytes_read() const {
    std::uint64_t sum = 0;
    for (const CountedRead& one : reads()) sum += one.size;
    return sum;
  }

  Position bad_sector = UINT64_MAX;
  Position hole = UINT64_MAX;
  static constexpr std::uint64_t kIslandDistance = 4 * kPiece;
  std::uint64_t island = UINT64_MAX;

 private:
  const std::uint64_t size_;
  mutable std::mutex mutex_;
  mutable std::vector<CountedRead> reads_;
};

struct PassedSource {
  explicit PassedSource(std::uint64_t size, const std::function<void(CountedSource&)>& prepare = {})
      : below(std::make_shared<CountedSource>(size)), source(below) {
    if (prepare) prepare(*below);
  }
  // What a read gives, each byte checked; nullopt if it fails.
  std::optional<std::size_t> read(const RequestContext& context, Position at, std::size_t size) const {
    std::vector<std::byte> out(size);
    const auto got = source.read_at(context, at, out);
    if (!got) return std::nullopt;
    for (std::size_t i = 0; i < *got; ++i) {
      if (out[i] != below->byte_at(at + i)) ADD_FAILURE() << "wrong byte at " << at + i;
    }
    return *got;
  }

  const std::shared_ptr<CountedSource> below;
  const WindowedSource source;
};

std::vector<CountedRead> pieces(std::uint64_t first, std::uint64_t end) {
  std::vector<CountedRead> all;
  for (std::uint64_t i = first; i < end; ++i) all.push_back({i * kPiece, kPiece});
  return all;
}

TEST(PrefetchBuffer, ScanInSmallStepsReadsEachPieceOnceInFileOrder) {
  const PassedSource passed(10 * kPiece);
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at < 10 * kPiece; at += 5000) {
    pass.advance(at);
    EXPECT_EQ(passed.read(context, at, 64), std::min<Position>(64, 10 * kPiece - at));
  }
  EXPECT_EQ(passed.below->reads(), pieces(0, 10));
}

TEST(PrefetchBuffer, LastPieceEndsWithTheSource) {
  const PassedSource passed(kPiece + 1000);
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  EXPECT_EQ(passed.read(context, kPiece - 10, 4096), 1010u);
  EXPECT_EQ(passed.read(context, kPiece + 1000, 10), 0u);
  EXPECT_EQ(passed.below->reads(), (std::vector<CountedRead>{{0, kPiece}, {kPiece, 1000}}));
}

// The driver reads headers; threads decode chunks of odd sizes that it has left, several at a time and out of order.
TEST(PrefetchBuffer, DecodersOnSeveralThreadsRereadNothing) {
  constexpr std::uint64_t kSize = 40 * kPiece + 12345;
  constexpr std::uint64_t kChunk = 700'001;
  const PassedSource passed(kSize);
  {
    PrefetchBuffer pass(passed.source);
    ReadWindow window({}, passed.source, &pass);
    const RequestContext context = RequestContext().with(window);
    std::deque<std::future<void>> decoders;
    for (Position at = 0; at < kSize; at += kChunk) {
      pass.advance(at);
      EXPECT_EQ(passed.read(context, at, 40), 40u);
      auto hold = std::make_shared<PrefetchBuffer::Hold>();
      hold->extend(pass, at, std::min(at + kChunk, kSize));
      decoders.push_back(std::async(std::launch::async, [&, at, hold] {
        ReadWindow own({}, passed.source, &pass);
        EXPECT_EQ(passed.read(RequestContext().with(own), at, kChunk), std::min(kChunk, kSize - at));
        hold->release();
      }));
      if (decoders.size() > 6) decoders.pop_front();
    }
    decoders.clear();
  }
  auto expected = pieces(0, 40);
  expected.push_back({40 * kPiece, 12345});
  EXPECT_EQ(passed.below->reads(), expected);
}

TEST(PrefetchBuffer, ViewInsideAPieceIsNotACopyAndStaysValid) {
  const PassedSource passed(30 * kPiece);
  std::vector<Slice> views;
  {
    PrefetchBuffer pass(passed.source);
    ReadWindow window({}, passed.source, &pass);
    const RequestContext context = RequestContext().with(window);
    for (Position at = 0; at + 4096 < 30 * kPiece; at += kPiece / 2) {
      pass.advance(at);
      auto view = passed.source.view_at(context, at + 1000, 2000);
      ASSERT_TRUE(view);
      views.push_back(*view);
    }
    EXPECT_EQ(passed.below->reads(), pieces(0, 30));
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_EQ(views[i].bytes.front(), passed.below->byte_at(i * kPiece / 2 + 1000));
  }
}

TEST(PrefetchBuffer, ViewAcrossTwoPiecesContainsTheBytesOfBoth) {
  const PassedSource passed(3 * kPiece);
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  const auto view = passed.source.view_at(context, kPiece - 100, 200);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->bytes.size(), 200u);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(view->bytes[i], passed.below->byte_at(kPiece - 100 + i));
}

TEST(PrefetchBuffer, BytesAroundABadSectorAreReadOneByOne) {
  constexpr Position kBad = 2 * kPiece + 5000;
  const PassedSource passed(6 * kPiece, [](CountedSource& source) { source.bad_sector = kBad; });
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at + 500 <= 6 * kPiece; at += 1000) {
    pass.advance(at);
    EXPECT_EQ(passed.read(context, at, 500),
              at <= kBad && kBad < at + 500 ? std::nullopt : std::optional<std::size_t>(500))
        << at;
  }
  EXPECT_EQ(passed.read(context, 2 * kPiece + 4000, 1500), std::nullopt);
}

TEST(PrefetchBuffer, ReadsBeforeAndFarAfterTheWindowGoToTheSource) {
  const PassedSource passed(200 * kPiece);
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  for (std::uint64_t i = 0; i < 40; ++i) {
    pass.advance(i * kPiece);
    EXPECT_EQ(passed.read(context, i * kPiece, 10), 10u);
  }
  EXPECT_EQ(passed.read(context, 20 * kPiece, 77), 77u);
  EXPECT_EQ(passed.read(context, 199 * kPiece, 78), 78u);
  const auto reads = passed.below->reads();
  EXPECT_EQ(std::ranges::count(reads, CountedRead{20 * kPiece, 77}), 1);
  EXPECT_EQ(std::ranges::count(reads, CountedRead{199 * kPiece, 78}), 1);
}

TEST(PrefetchBuffer, BeginningOfTheFileStaysCached) {
  const PassedSource passed(60 * kPiece);
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  for (Position at = 0; at < 60 * kPiece; at += kPiece / 4) {
    pass.advance(at);
    EXPECT_EQ(passed.read(context, 32 + at % 1000, 8), 8u);
    EXPECT_EQ(passed.read(context, at, 16), 16u);
  }
  EXPECT_EQ(passed.below->reads(), pieces(0, 60));
}

TEST(PrefetchBuffer, LongJumpMovesTheWindowWithoutReadingTheSkippedBytes) {
  const PassedSource passed(std::uint64_t{1} << 40);
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  for (const Position begin : {Position{0}, Position{1} << 30, Position{1} << 39}) {
    for (Position at = begin; at < begin + 8 * kPiece; at += kPiece) {
      pass.advance(at);
      EXPECT_EQ(passed.read(context, at, 100), 100u);
    }
  }
  EXPECT_LE(passed.below->bytes_read(), 3 * (8 * kPiece + PrefetchBuffer::kMostAhead));
}

TEST(PrefetchBuffer, ZerosAreNotReadAhead) {
  const PassedSource passed(std::uint64_t{1} << 40, [](CountedSource& source) { source.hole = 5 * kPiece; });
  {
    PrefetchBuffer pass(passed.source);
    ReadWindow window({}, passed.source, &pass);
    const RequestContext context = RequestContext().with(window);
    for (Position at = 0; at <= 6 * kPiece; at += kPiece / 4) {
      pass.advance(at);
      EXPECT_EQ(passed.read(context, at, 100), 100u);
    }
  }
  EXPECT_LE(passed.below->bytes_read(), 8 * kPiece);
}

TEST(PrefetchBuffer, HolesBetweenIslandsOfASparseFileAreNotRead) {
  constexpr std::uint64_t kIslands = 100, kIsland = 32u << 10;
  const PassedSource passed(kIslands * CountedSource::kIslandDistance,
                            [](CountedSource& source) { source.island = kIsland; });
  {
    PrefetchBuffer pass(passed.source);
    ReadWindow window({}, passed.source, &pass);
    const RequestContext context = RequestContext().with(window);
    for (std::uint64_t i = 0; i < kIslands; ++i) {
      const Position begin = i * CountedSource::kIslandDistance;
      pass.advance(begin);
      EXPECT_EQ(passed.read(context, begin, kIsland + 100), kIsland + 100);
    }
  }
  EXPECT_LE(passed.below->bytes_read(), 4 * kIslands * kIsland + 2 * kPiece);
}

TEST(PrefetchBuffer, NothingIsReadAfterTheLastRequestedByte) {
  const PassedSource passed(100 * kPiece);
  {
    PrefetchBuffer pass(passed.source, 9 * kPiece);
    ReadWindow window({}, passed.source, &pass);
    const RequestContext context = RequestContext().with(window);
    for (Position at = 0; at < 9 * kPiece; at += kPiece / 4) {
      pass.advance(at);
      EXPECT_EQ(passed.read(context, at, 100), 100u);
    }
  }
  EXPECT_EQ(passed.below->reads(), pieces(0, 9));
}

TEST(PrefetchBuffer, FirstRecordsOfALargeFileReadOnePiece) {
  const PassedSource passed(100 * kPiece);
  {
    PrefetchBuffer pass(passed.source);
    ReadWindow window({}, passed.source, &pass);
    const RequestContext context = RequestContext().with(window);
    for (Position at = 0; at < kPiece / 2; at += 1000) {
      pass.advance(at);
      EXPECT_EQ(passed.read(context, at, 100), 100u);
    }
  }
  EXPECT_EQ(passed.below->reads(), pieces(0, 1));
}

TEST(PrefetchBuffer, ChunkLargerThanTheWindowIsReadFromTheSource) {
  const PassedSource passed(200 * kPiece);
  PrefetchBuffer pass(passed.source);
  ReadWindow window({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(window);
  PrefetchBuffer::Hold hold;
  hold.extend(pass, 0, 100 * kPiece);
  pass.advance(100 * kPiece);
  EXPECT_EQ(passed.read(context, 100 * kPiece, 100), 100u);
  EXPECT_EQ(passed.read(context, 50 * kPiece, 100), 100u);
  EXPECT_LE(passed.below->bytes_read(), kPiece + PrefetchBuffer::kMostAhead + 100);
}

void expect_bytes(const PassedSource& passed, const Slice& window, Position at, std::uint64_t size) {
  ASSERT_EQ(window.bytes.size(), size) << at;
  for (std::size_t i = 0; i < size; i += 61) ASSERT_EQ(window.bytes[i], passed.below->byte_at(at + i)) << at + i;
  EXPECT_EQ(window.bytes.back(), passed.below->byte_at(at + size - 1));
}

TEST(PrefetchBuffer, WindowsThatOverlapReadEachByteOnceInTheSameMemory) {
  constexpr std::uint64_t kFew = 7;  // so few that slow loads start no thread, which would use other memory
  const PassedSource passed(kFew * kPiece);
  PrefetchBuffer pass(passed.source);
  std::vector<const std::byte*> ends;
  for (Position at = 0, end = 0; end < kFew * kPiece; at = end - 1000) {
    pass.advance(at);
    const Slice window = pass.window(at, 2000);
    expect_bytes(passed, window, at, end == 0 ? kPiece : 1000 + kPiece);
    end = at + window.bytes.size();
    ends.push_back(window.bytes.data() + window.bytes.size());
  }
  EXPECT_EQ(passed.below->reads(), pieces(0, kFew));
  EXPECT_TRUE(std::all_of(ends.begin() + 2, ends.end(), [&](const std::byte* end) { return end == ends[1]; }));
}

TEST(PrefetchBuffer, WindowThatIsStillUsedKeepsItsBytes) {
  const PassedSource passed(8 * kPiece);
  PrefetchBuffer pass(passed.source);
  std::vector<Slice> windows;
  for (Position at = 0; at < 8 * kPiece; at += kPiece) {
    pass.advance(at);
    windows.push_back(pass.window(at));
  }
  for (std::size_t i = 0; i < windows.size(); ++i) expect_bytes(passed, windows[i], i * kPiece, kPiece);
}

TEST(PrefetchBuffer, WindowLargerThanAPieceIsOneRead) {
  const PassedSource passed(10 * kPiece);
  PrefetchBuffer pass(passed.source);
  expect_bytes(passed, pass.window(0, 3 * kPiece), 0, 3 * kPiece);
  EXPECT_EQ(passed.below->reads(), (std::vector<CountedRead>{{0, 3 * kPiece}}));
  pass.advance(3 * kPiece - 5);
  expect_bytes(passed, pass.window(3 * kPiece - 5, 2 * kPiece), 3 * kPiece - 5, 2 * kPiece + 5);
}

TEST(PrefetchBuffer, WindowJoinsPiecesThatAReaderLoaded) {
  const PassedSource passed(10 * kPiece);
  PrefetchBuffer pass(passed.source);
  ReadWindow reader({}, passed.source, &pass);
  EXPECT_EQ(passed.read(RequestContext().with(reader), 0, 3 * kPiece), 3 * kPiece);
  expect_bytes(passed, pass.window(kPiece - 10, 2 * kPiece), kPiece - 10, 2 * kPiece + 10);
  EXPECT_EQ(passed.below->reads(), pieces(0, 3));
}

TEST(PrefetchBuffer, WindowEndsBeforeBytesThatCannotBeRead) {
  const PassedSource passed(10 * kPiece, [](CountedSource& source) { source.bad_sector = kPiece + 5; });
  PrefetchBuffer pass(passed.source);
  expect_bytes(passed, pass.window(10), 10, kPiece - 10);
  expect_bytes(passed, pass.window(10, 2 * kPiece), 10, kPiece - 10);
  expect_bytes(passed, pass.window(3 * kPiece, kPiece), 3 * kPiece, kPiece + 4096);
}

// Moves a window over the source in steps of `step` bytes, and checks each byte once.
void walk(const PassedSource& passed, PrefetchBuffer& pass, std::uint64_t step) {
  const std::uint64_t size = passed.source.size();
  for (Position at = 0; at < size; at += step) {
    pass.advance(at);
    const Slice window = pass.window(at, step);
    const std::uint64_t least = std::min(step, size - at);
    ASSERT_GE(window.bytes.size(), least);
    std::size_t same = 0;
    while (same < least && window.bytes[same] == passed.below->byte_at(at + same)) ++same;
    ASSERT_EQ(same, least) << "byte " << at + same << " differs";
  }
}

TEST(PrefetchBuffer, PiecesThatSeveralThreadsLoadAheadAreReadOnce) {
  const std::uint64_t size = 20 * PrefetchBuffer::kPieceAhead + 12345;
  const PassedSource passed(size);
  PrefetchBuffer pass(passed.source);
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) pass.load_ahead(3);
    });
  }
  walk(passed, pass, 100001);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed.below->bytes_read(), size);
}

TEST(PrefetchBuffer, PiecesAheadAreBounded) {
  const PassedSource passed(40 * PrefetchBuffer::kPieceAhead);
  PrefetchBuffer pass(passed.source);
  EXPECT_FALSE(pass.load_ahead(2)) << "before the driver has begun";
  pass.advance(0);
  (void)pass.window(0);
  while (pass.load_ahead(2)) {
  }
  EXPECT_LE(passed.below->bytes_read(), 3 * PrefetchBuffer::kPieceAhead);
  pass.advance(20 * PrefetchBuffer::kPieceAhead);  // elsewhere
  const Slice window = pass.window(20 * PrefetchBuffer::kPieceAhead);
  EXPECT_EQ(window.bytes[0], passed.below->byte_at(20 * PrefetchBuffer::kPieceAhead));
}

TEST(PrefetchBuffer, BadSectorInAPieceAheadCostsNoOtherBytes) {
  const PassedSource passed(4 * PrefetchBuffer::kPieceAhead,
                            [](CountedSource& below) { below.bad_sector = PrefetchBuffer::kPieceAhead; });
  PrefetchBuffer pass(passed.source);
  ReadWindow reads({}, passed.source, &pass);
  const RequestContext context = RequestContext().with(reads);
  pass.advance(0);
  (void)pass.window(0);
  while (pass.load_ahead(3)) {
  }
  for (const Position at : {PrefetchBuffer::kPieceAhead - 64, PrefetchBuffer::kPieceAhead + 1}) {
    EXPECT_EQ(passed.read(context, at, 64), 64u) << at;
  }
  EXPECT_FALSE(passed.read(context, PrefetchBuffer::kPieceAhead, 64));
}

}  // namespace
}  // namespace recordfs
