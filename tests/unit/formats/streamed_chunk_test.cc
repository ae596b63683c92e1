#include "core/formats/streamed_chunk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/request_context.h"
#include "tests/unit/codec/packers.h"

namespace recordfs {
namespace {

using testing::packers;
using testing::text_of;

constexpr std::size_t kRecord = 100'000;
constexpr std::size_t kRecords = 10;

struct Options {
  std::size_t record_size = kRecord;
  Tail tail = Tail::kDamage;
  std::uint64_t memory = kStreamMemory;
};

std::shared_ptr<const Chunk> chunk_of(CodecId codec, std::string_view stored, const Options& options = {}) {
  Layout layout;
  for (std::size_t i = 0; i < kRecords; ++i) layout.add({}, options.record_size);
  StreamedChunk::Compressed compressed{.stored = *Buffer::copy_of({}, as_bytes(stored)),
                                       .codec = codec,
                                       .payload = kRecords * options.record_size,
                                       .tail = options.tail,
                                       .memory = options.memory};
  return std::make_shared<const StreamedChunk>(std::move(compressed), std::move(layout), [](Error error) {
    error.position = 77;
    return error;
  });
}

// Returns the codecs that support partial decompression.
std::vector<testing::Packer> streaming_packers() {
  auto all = packers();
  std::erase_if(all, [](const auto& packer) { return !StreamedChunk::is_worth(packer.codec, kRecords * kRecord); });
  return all;
}

Result<Slice> read_record(const Chunk& chunk, std::size_t index, const RequestContext& context = {}) {
  const Extent extent = chunk.layout().extent(index);
  return chunk.read(context, extent.begin, extent.size);
}

// Returns which records are readable if they are read in this order.
std::vector<bool> readable(const Chunk& chunk, const std::vector<std::size_t>& order) {
  std::vector<bool> good(order.size());
  for (const std::size_t index : order) good[index] = read_record(chunk, index).has_value();
  return good;
}

const std::vector<std::vector<std::size_t>> kOrders = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {4, 9, 0, 5, 1, 6, 2, 7, 3, 8}};

TEST(StreamedChunk, RecordsAreReadInAnyOrder) {
  const std::string text = text_of(kRecords * kRecord);
  for (const auto& [codec, pack] : streaming_packers()) {
    for (const auto& order : kOrders) {
      const auto chunk = chunk_of(codec, pack(text));
      for (const std::size_t index : order) {
        const auto record = read_record(*chunk, index);
        ASSERT_TRUE(record) << to_string(record.error());
        EXPECT_TRUE(as_text(record->bytes) == std::string_view(text).substr(index * kRecord, kRecord)) << index;
      }
    }
  }
}

TEST(StreamedChunk, SliceStaysValidDuringLaterReads) {
  const std::string text = text_of(kRecords * kRecord);
  for (const auto& [codec, pack] : streaming_packers()) {
    auto chunk = chunk_of(codec, pack(text));
    const auto first = read_record(*chunk, 0);
    ASSERT_TRUE(read_record(*chunk, 9));
    chunk.reset();
    EXPECT_TRUE(as_text(first->bytes) == std::string_view(text).substr(0, kRecord));
  }
}

class LargeOnes final : public LargeAllocations {
 public:
  int count = 0;

 private:
  void on_large_allocation(const RequestContext&) override { ++count; }
};

TEST(StreamedChunk, FirstReadAllocatesOnlyWhatItReads) {
  constexpr std::size_t kSize = RequestContext::kLargeAllocation / 8;
  const auto codecs = streaming_packers();
  ASSERT_FALSE(codecs.empty());
  const auto chunk =
      chunk_of(codecs.front().codec, codecs.front().pack(text_of(kRecords * kSize)), {.record_size = kSize});
  LargeOnes large;
  const RequestContext context = RequestContext().with(large);
  ASSERT_TRUE(read_record(*chunk, 2, context));
  ASSERT_TRUE(read_record(*chunk, 1, context));
  EXPECT_EQ(large.count, 0);
  ASSERT_TRUE(read_record(*chunk, 3, context));
  EXPECT_EQ(large.count, 1);
}

TEST(StreamedChunk, ImplausiblePayloadSizeIsAllocatedAsItIsDecoded) {
  for (const auto& [codec, pack] : streaming_packers()) {
    const auto chunk = chunk_of(codec, pack(text_of(kRecord)), {.record_size = RequestContext::kLargeAllocation});
    LargeOnes large;
    const RequestContext context = RequestContext().with(large);
    for (const std::size_t index : std::vector<std::size_t>{2, 9}) EXPECT_FALSE(read_record(*chunk, index, context));
    EXPECT_EQ(large.count, 0) << to_string(codec);
  }
}

TEST(StreamedChunk, ImplausiblePayloadSizeIsReadIfTheStreamContainsIt) {
  constexpr std::size_t kSize = 1 << 20;
  const std::string text(kRecords * kSize, 'x');
  for (const auto& [codec, pack] : streaming_packers()) {
    for (const auto& order : kOrders) {
      const auto chunk = chunk_of(codec, pack(text), {.record_size = kSize});
      for (const std::size_t index : order) {
        const auto record = read_record(*chunk, index);
        ASSERT_TRUE(record) << to_string(record.error());
        EXPECT_TRUE(as_text(record->bytes) == std::string_view(text).substr(0, kSize)) << index;
      }
    }
  }
}

#ifdef RECORDFS_HAVE_ZSTD
TEST(StreamedChunk, StreamBeyondTheMemoryLimitIsReadAtOnceOrNotAtAll) {
  const std::string stored = testing::pack_zstd(text_of(kRecords * kRecord));
  const Options options{.memory = 1};
  for (const auto& order : kOrders) {
    EXPECT_EQ(readable(*chunk_of(CodecId::kZstd, stored, options), order), std::vector<bool>(kRecords, true));
    const auto broken = chunk_of(CodecId::kZstd, stored.substr(0, stored.size() / 2), options);
    EXPECT_EQ(readable(*broken, order), std::vector<bool>(kRecords, false));
    EXPECT_EQ(read_record(*broken, 0).error().code, Code::kDamage);
  }
}
#endif

TEST(StreamedChunk, BytesAfterTheStreamMayBeIgnored) {
  for (const auto& [codec, pack] : streaming_packers()) {
    const std::string stored = pack(text_of(kRecords * kRecord)) + "something else";
    for (const auto& order : kOrders) {
      EXPECT_EQ(readable(*chunk_of(codec, stored, {.tail = Tail::kIgnored}), order), std::vector<bool>(kRecords, true));
    }
    EXPECT_FALSE(read_record(*chunk_of(codec, stored), 9));
  }
}

TEST(StreamedChunk, BrokenStreamYieldsTheSameRecordsInAnyOrder) {
  for (const auto& [codec, pack] : streaming_packers()) {
    std::string stored = pack(text_of(kRecords * kRecord));
    stored.resize(stored.size() / 2);
    const auto good = readable(*chunk_of(codec, stored), kOrders[0]);
    EXPECT_TRUE(good.front()) << to_string(codec);
    EXPECT_FALSE(good.back()) << to_string(codec);
    for (const auto& order : kOrders) EXPECT_EQ(readable(*chunk_of(codec, stored), order), good) << to_string(codec);
  }
}

// A piece has 64 KiB; the last piece may be a full one.
TEST(StreamedChunk, StreamLongerThanThePayloadLosesOnlyTheLastPiece) {
  std::vector<bool> want(kRecords, true);
  want.back() = false;
  for (const std::size_t size : {kRecord, std::size_t{64} << 10}) {
    for (const auto& [codec, pack] : streaming_packers()) {
      const std::string stored = pack(text_of(kRecords * size + 1));
      for (const auto& order : kOrders) {
        EXPECT_EQ(readable(*chunk_of(codec, stored, {.record_size = size}), order), want) << to_string(codec);
      }
    }
  }
}

TEST(StreamedChunk, FailureHasAReason) {
  for (const auto& [codec, pack] : streaming_packers()) {
    const auto chunk = chunk_of(codec, "no stream");
    for (const std::size_t index : std::vector<std::size_t>{3, 3, 9}) {
      const auto record = read_record(*chunk, index);
      ASSERT_FALSE(record);
      EXPECT_TRUE(is_permanent(record.error().code));
      EXPECT_EQ(record.error().position, 77u);
    }
  }
}

TEST(StreamedChunk, IsUsedForStreamingCodecsAndMoreThanOnePiece) {
  EXPECT_TRUE(StreamedChunk::is_worth(CodecId::kZstd, 1 << 20));
  EXPECT_FALSE(StreamedChunk::is_worth(CodecId::kZstd, 1 << 10));
  EXPECT_FALSE(StreamedChunk::is_worth(CodecId::kSnappy, 1 << 20));
  EXPECT_FALSE(StreamedChunk::is_worth(CodecId::kNone, 1 << 20));
}

}  // namespace
}  // namespace recordfs
