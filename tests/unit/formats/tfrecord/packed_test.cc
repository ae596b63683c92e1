#include <zlib.h>

#include <algorithm>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "core/formats/tfrecord/compressed.h"
#include "core/formats/tfrecord/inflating.h"
#include "tests/unit/formats/tfrecord/files.h"
#include "tests/unit/support/thorough.h"

namespace recordfs::tfrecord {
namespace {

std::string packed(const std::string& bytes, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Returns records for several chunks, partly noise and partly text.
std::string many_records() {
  std::mt19937 random(1);
  std::string file;
  for (int i = 0; i < 2000; ++i) {
    std::string data(random() % 2000, 'x');
    if (i % 3 != 0) std::ranges::generate(data, [&] { return static_cast<char>(random() & 0xFF); });
    file += framed(data);
  }
  return file;
}

// Chunks have the same positions in a scan with other checkpoints, or none.
TEST(PackedTFRecord, EveryChunkCanBeFoundAndDecodedFirst) {
  const std::string bytes = packed(many_records());
  const Reading all = read_bytes(bytes);
  ASSERT_EQ(all.records.size(), 2000u);
  ASSERT_GT(all.chunks.size(), 5u);
  for (auto chunk = all.chunks.rbegin(); chunk != all.chunks.rend(); ++chunk) {
    const auto fresh = kFormat.open({}, source_of(bytes), Limits{}).value();
    const auto decoded = fresh->decode({}, *chunk);
    ASSERT_TRUE(decoded);
    EXPECT_EQ((*decoded)->layout().records(), chunk->records);
    EXPECT_FALSE((*decoded)->layout().has_failures());
    const auto step = kFormat.open({}, source_of(bytes), Limits{}).value()->scan({}, chunk->key);
    ASSERT_TRUE(step && step->chunk);
    EXPECT_EQ(step->chunk->begin, chunk->begin);
    EXPECT_EQ(step->chunk->end, chunk->end);
    EXPECT_EQ(step->chunk->records, chunk->records);
  }
}

TEST(PackedTFRecord, ChunksOfATruncatedFileBeginWhereThoseOfTheWholeDo) {
  const std::string bytes = packed(many_records());
  const Reading whole = read_bytes(bytes);
  const std::size_t step = testing::is_thorough() ? 4999 : 24989;
  for (std::size_t size = 100; size < bytes.size(); size += step) {
    const Reading part = read_bytes(bytes.substr(0, size));
    ASSERT_LE(part.records.size(), whole.records.size());
    EXPECT_TRUE(std::equal(part.records.begin(), part.records.end(), whole.records.begin()));
    for (std::size_t i = 0; i < part.chunks.size(); ++i) EXPECT_EQ(part.chunks[i].begin, whole.chunks[i].begin);
    ASSERT_EQ(part.damage.size(), 1u);
    EXPECT_EQ(part.damage[0].damage_class, DamageClass::kUnfinished);
    EXPECT_EQ(part.damage[0].end, size);
  }
}

TEST(PackedTFRecord, MembersAreOneStream) {
  const std::string file = framed("one") + framed("second") + framed("3");
  for (std::size_t at = 0; at <= file.size(); ++at) {
    const Reading all = read_bytes(packed(file.substr(0, at)) + packed(file.substr(at)));
    EXPECT_EQ(all.records.size(), 3u) << at;
    EXPECT_TRUE(all.damage.empty()) << at;
  }
}

TEST(PackedTFRecord, LargeRecordIsAChunkOfItsOwn) {
  const std::string bytes = packed(framed("before") + framed(std::string(2u << 20, 'x')) + framed("behind"));
  const Reading all = read_bytes(bytes);
  ASSERT_EQ(all.chunks.size(), 3u);
  EXPECT_EQ(all.records.size(), 3u);
  EXPECT_TRUE(all.damage.empty());
  Position end = 0;
  for (const ChunkInfo& chunk : all.chunks) {
    EXPECT_EQ(std::exchange(end, chunk.end), chunk.begin);
    EXPECT_EQ(chunk.records, 1u);
  }
  EXPECT_EQ(end, bytes.size());

  Limits limits;
  limits.decoded_chunk = 1u << 20;
  EXPECT_EQ(read_bytes(bytes, limits).records, (std::vector<std::string>{"before", "behind"}));
  for (std::size_t size = 150; size < bytes.size(); size += 11) {
    const Reading part = read_bytes(bytes.substr(0, size), limits);
    ASSERT_LE(part.chunks.size(), all.chunks.size());
    for (std::size_t i = 0; i < part.chunks.size(); ++i) EXPECT_EQ(part.chunks[i].begin, all.chunks[i].begin);
    ASSERT_EQ(part.damage.size(), 1u) << size;
    EXPECT_EQ(part.damage[0].begin, part.chunks.empty() ? 0 : part.chunks.back().end);
  }
}

TEST(PackedTFRecord, LargeRecordAtTheEndIncludesTheEndOfTheStream) {
  for (std::size_t size = 2u << 20; size < (2u << 20) + 8; ++size) {
    const std::string bytes = packed(framed(std::string(size, 'x')));
    const Reading all = read_bytes(bytes);
    ASSERT_EQ(all.chunks.size(), 1u);
    EXPECT_EQ(all.chunks[0].end, bytes.size());
    EXPECT_TRUE(all.damage.empty());
  }
}

TEST(PackedTFRecord, NothingIsReadAfterTheEndOfATruncatedStream) {
  constexpr std::size_t kHeads = 10 + 5;  // the heads of a gzip member and of a stored block
  constexpr std::size_t kThere = 8;
  const auto source = source_of(packed(framed("one"), 0).substr(0, kHeads + kThere));
  auto reading = Inflating::from(*source, CodecId::kGzip, {});
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->skip({}, kThere).value(), kThere);
  ASSERT_EQ(reading->stored(), source->size());
  auto again = Inflating::from(*source, CodecId::kGzip, reading->here().value());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->skip({}, 1).value(), 0u);
  EXPECT_EQ(again->ending(), Ending::kCut);
}

TEST(PackedTFRecord, NextRecordIsReadAfterAWrongLength) {
  std::string file = framed("one") + framed("second") + framed("3");
  file[framed("one").size()] ^= 1;
  file[framed("one").size() + 5] ^= 1;
  for (const std::uint64_t scan_bytes : {std::uint64_t{1}, Limits{}.scan_bytes}) {
    Limits limits;
    limits.scan_bytes = scan_bytes;
    const Reading all = read_bytes(packed(file, 0), limits);
    EXPECT_EQ(all.records, (std::vector<std::string>{"one", "3"}));
    ASSERT_EQ(all.damage.size(), 1u);
    EXPECT_EQ(all.damage[0].reason, "a length that does not match its checksum");
  }
}

TEST(PackedTFRecord, NextMemberIsReadAfterABrokenOne) {
  const std::string first = packed(framed("one"));
  const std::string broken = packed(framed(std::string(5000, 'x')));
  std::string file = first + broken + packed(framed("3") + framed("4"));
  for (std::size_t i = 0; i < 10; ++i) file[first.size() + 10 + i] = '\x7f';
  const Reading all = read_bytes(file);
  EXPECT_EQ(all.records, (std::vector<std::string>{"one", "3", "4"}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, first.size());
  EXPECT_EQ(all.damage[0].end, first.size() + broken.size());
}

// Several records, and the broken bytes between them, are in one byte of the file. Each region still takes one byte.
TEST(PackedTFRecord, ScanAdvancesPastDamageWithinOneCompressedByte) {
  std::string file = framed("one");
  for (int i = 0; i < 20; ++i) file += std::string(40, 'x') + framed("");
  file += std::string(40, 'x');
  std::mt19937 random(1);
  std::ranges::generate_n(std::back_inserter(file), 1000, [&] { return static_cast<char>(random() & 0xFF); });
  const Reading all = read_bytes(packed(file));
  EXPECT_EQ(all.records.size(), 21u);
  ASSERT_EQ(all.damage.size(), 21u);
  for (std::size_t i = 1; i < all.damage.size(); ++i) EXPECT_GT(all.damage[i].begin, all.damage[i - 1].begin);
}

TEST(PackedTFRecord, BytesBetweenMembersAreDamage) {
  const Reading all = read_bytes(packed(framed("one")) + "more" + packed(framed("two")));
  EXPECT_EQ(all.records, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].end - all.damage[0].begin, 4u);
}

TEST(PackedTFRecord, BytesAfterTheStreamAreDamage) {
  const Reading all = read_bytes(packed(framed("one")) + "more");
  EXPECT_EQ(all.records.size(), 1u);
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].damage_class, DamageClass::kDamage);
}

}  // namespace
}  // namespace recordfs::tfrecord
