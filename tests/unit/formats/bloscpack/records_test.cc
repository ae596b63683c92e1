#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "core/base/cursor.h"
#include "core/formats/bloscpack/format.h"
#include "tests/unit/formats/bloscpack/reading.h"
#include "tests/unit/formats/bloscpack/writer.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::bloscpack {
namespace {

using testing::CountingSource;

std::vector<std::string> records(std::size_t count, std::size_t size) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(record(i, size));
  return all;
}

void expect_good(const FileShape& shape, const std::vector<std::string>& expected) {
  const Read read = read_bytes(make_file(shape).bytes);
  EXPECT_EQ(read.records, expected);
  EXPECT_EQ(reasons(read), "");
}

TEST(BloscpackRecords, EveryCodecInOneFileIsRead) {
  std::vector<std::string> texts;
  std::vector<std::string> chunks;
  for (const char* codec : {"blosclz", "lz4", "snappy", "zlib", "zstd"}) {
    texts.push_back(record(chunks.size(), 50));
    for (int i = 0; i < 10; ++i) texts.back() += texts.back();
    chunks.push_back(blosc_chunk(texts.back(), codec, 4096, 4));
  }
  expect_good({.spare = 7, .chunks = chunks}, texts);
  const Read read = read_bytes(make_file({.chunks = chunks}).bytes);
  std::string codecs;
  for (const ChunkInfo& chunk : read.chunks) codecs += std::string(chunk.codec) + " ";
  EXPECT_EQ(codecs, "blosclz lz4 snappy zlib zstd ");
}

TEST(BloscpackRecords, FileOfUnknownCountIsRead) {
  for (const bool has_offsets : {true, false}) {
    for (const bool is_variable : {true, false}) {
      expect_good({.is_variable = is_variable, .has_offsets = has_offsets, .count = -1, .chunks = plain_records(3, 50)},
                  records(3, 50));
    }
  }
}

TEST(BloscpackRecords, FileWithUnfilledOffsetsIsRead) {
  for (const bool is_variable : {true, false}) {
    MadeFile file = make_file({.is_variable = is_variable, .chunks = plain_records(4, 50)});
    for (std::size_t i = 0; i < 4; ++i) put(file.bytes, file.offsets + 8 * i, 8, ~std::uint64_t{0});
    const Read read = read_bytes(file.bytes);
    EXPECT_EQ(read.records, records(4, 50));
    EXPECT_EQ(reasons(read), "");
    const Read cut = read_bytes(file.bytes.substr(0, file.begins[2] + 5));
    EXPECT_EQ(cut.records, records(2, 50));
    ASSERT_EQ(cut.damage.size(), 1u);
    EXPECT_EQ(cut.damage[0].damage_class, DamageClass::kUnfinished);
    EXPECT_EQ(cut.damage[0].records_lost, 2u);
  }
}

// --- blocks

std::string noise(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>('a' + (state >> 28));
  }
  return text;
}

TEST(BloscpackBlocks, SmallReadOfALargeChunkReadsOnlyItsBlock) {
  const std::string text = noise(4 << 20);
  const auto source = std::make_shared<CountingSource>(
      make_file({.digest = std::nullopt, .chunks = {blosc_chunk(text, "zstd", 64 << 10)}}).bytes);
  auto container = kFormat.open({}, source, {}).value();
  const auto info = container->scan({}, container->traits().first)->chunk.value();
  const auto chunk = container->open_in_place({}, info).value();
  source->take_read_bytes();
  const auto slice = chunk->read({}, 1000000, 100);
  ASSERT_TRUE(slice);
  EXPECT_EQ(as_text(slice->bytes), std::string_view(text).substr(1000000, 100));
  EXPECT_LT(source->take_read_bytes(), 128u << 10);
  EXPECT_LT(chunk->memory(), 256u << 10);
  EXPECT_EQ(as_text(chunk->read({}, 0, text.size())->bytes), text);
}

TEST(BloscpackBlocks, BlocksOfOneChunkAreReadByManyThreads) {
  const std::string text = noise(1 << 20);
  const auto container = open_bytes(make_file({.chunks = {blosc_chunk(text, "lz4", 16 << 10)}}).bytes);
  const auto info = container->scan({}, container->traits().first)->chunk.value();
  for (const auto& chunk : {container->decode({}, info).value(), container->open_in_place({}, info).value()}) {
    std::vector<std::jthread> threads;
    for (std::size_t seed = 0; seed < 8; ++seed) {
      threads.emplace_back([&, seed] {
        for (std::size_t i = 0; i < 100; ++i) {
          const std::size_t at = (seed * 7919 + i * 104729) % (text.size() - 5000);
          const auto slice = chunk->read({}, at, 5000);
          ASSERT_TRUE(slice);
          EXPECT_EQ(as_text(slice->bytes), std::string_view(text).substr(at, 5000));
        }
      });
    }
  }
}

TEST(BloscpackBlocks, DamagedBlockLeavesTheOthersReadable) {
  constexpr std::size_t kBlock = 64 << 10;
  std::string text;
  for (int i = 0; text.size() < 4 * kBlock; ++i) text += std::to_string(i) + ", ";
  text.resize(4 * kBlock);
  std::string stored = blosc_chunk(text, "lz4", kBlock);
  // Block 2 begins with the length of its only stream.
  const auto begin = static_cast<std::size_t>(load_le<std::uint32_t>(as_bytes(stored).data() + 16 + 2 * 4));
  std::fill_n(stored.begin() + static_cast<std::ptrdiff_t>(begin) + 4 + 100, 200, '\xFF');
  const auto container = open_bytes(make_file({.digest = std::nullopt, .chunks = {stored}}).bytes);
  const auto info = container->scan({}, container->traits().first)->chunk.value();
  const auto chunk = container->decode({}, info).value();
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(chunk->read({}, 0, text.size()));
    EXPECT_EQ(as_text(chunk->read({}, 0, 2 * kBlock)->bytes), std::string_view(text).substr(0, 2 * kBlock));
    EXPECT_FALSE(chunk->read({}, 2 * kBlock, 1));
    EXPECT_EQ(as_text(chunk->read({}, 3 * kBlock, kBlock)->bytes), std::string_view(text).substr(3 * kBlock));
  }
}

// 2 GiB of zeros that take no memory.
class Sparse final : public Source {
 public:
  explicit Sparse(std::string head, std::uint64_t size) : head_(std::move(head)), size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(const RequestContext&, Position at, MutableBytes out) const override {
    if (at >= size_) return std::size_t{0};
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - at)));
    std::ranges::fill(out, std::byte{});
    if (at < head_.size()) {
      const Bytes rest = as_bytes(head_).subspan(static_cast<std::size_t>(at));
      copy_bytes(rest.first(std::min(rest.size(), out.size())), out);
    }
    return out.size();
  }

 private:
  const std::string head_;
  const std::uint64_t size_;
};

TEST(BloscpackBlocks, UncompressedChunkOfTwoGigabytesIsServedFromTheFile) {
  constexpr std::uint64_t kSize = 2147483631;
  std::string head = make_file({.digest = std::nullopt, .chunks = {plain_chunk("")}}).bytes;
  for (const std::size_t field : {4u, 8u}) put(head, head.size() - 16 + field, 4, kSize);
  put(head, head.size() - 4, 4, kSize + 16);
  const auto source = std::make_shared<Sparse>(head, head.size() + kSize);
  auto container = kFormat.open({}, source, {}).value();
  const auto info = container->scan({}, container->traits().first)->chunk.value();
  EXPECT_EQ(info.decoded_size, kSize);
  EXPECT_EQ(container->decode({}, info).error().code, Code::kLimit);
  const auto chunk = container->open_in_place({}, info).value();
  EXPECT_LT(chunk->memory(), 4096u);
  EXPECT_EQ(chunk->read({}, kSize - 10, 10)->bytes.size(), 10u);
}

}  // namespace
}  // namespace recordfs::bloscpack
