#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "core/formats/bloscpack/format.h"
#include "core/formats/bloscpack/order.h"
#include "tests/unit/formats/bloscpack/reading.h"
#include "tests/unit/formats/bloscpack/writer.h"
#include "tests/unit/support/counting_source.h"

namespace recordfs::bloscpack {
namespace {

using testing::CountingSource;

constexpr std::size_t kChunks = 6;

// Returns "012345" for a completely readable file, with '-' in place of each unreadable record.
std::string readable(const Read& read, std::size_t size = 60) {
  std::string found;
  for (const std::string& bytes : read.records) {
    char letter = '-';
    for (std::size_t i = 0; i < kChunks; ++i) {
      if (bytes == record(i, size)) letter = static_cast<char>('0' + i);
    }
    found += letter;
  }
  return found;
}

FileShape real() { return {.chunk_size = 60, .last_chunk = 60, .spare = 3, .chunks = plain_records(kChunks, 60)}; }
FileShape variable() { return {.is_variable = true, .chunks = plain_records(kChunks, 60)}; }
FileShape shuffled() {
  FileShape shape = variable();
  shape.order = {3, 1, 5, 0, 2, 4};
  return shape;
}

TEST(BloscpackDamage, BrokenHeaderOfAChunkWithAnOffsetLosesOnlyItsRecordAndKeepsOrdinals) {
  for (const FileShape& shape : {real(), variable()}) {
    for (const std::size_t field : {0u, 4u, 12u}) {
      for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{17}, std::uint64_t{0xFFFFFFFF}}) {
        MadeFile file = make_file(shape);
        put(file.bytes, file.begins[2] + field, 4, value);
        const Read read = read_bytes(file.bytes);
        EXPECT_EQ(readable(read), "01-345") << field << ' ' << value;
        EXPECT_EQ(read.chunks[2].begin, file.begins[2]);
      }
    }
  }
}

TEST(BloscpackDamage, LostChunkHasTheSizeDeclaredInTheHeader) {
  MadeFile file = make_file(real());
  file.bytes[file.begins[3]] = 9;
  file.bytes[file.begins[4]] = 9;
  const auto container = open_bytes(file.bytes);
  const Read read = read_all(*container);
  EXPECT_EQ(readable(read), "012--5");
  EXPECT_EQ(read.chunks[3].decoded_size, 120u);
  EXPECT_EQ(container->layout({}, read.chunks[3])->total(), 120u);
}

TEST(BloscpackDamage, BrokenHeaderOfTheLastChunkKeepsItsOrdinal) {
  for (const FileShape& shape : {real(), variable()}) {
    MadeFile file = make_file(shape);
    file.bytes[file.begins[5]] = 9;
    const Read read = read_bytes(file.bytes);
    EXPECT_EQ(readable(read), "01234-");
    EXPECT_EQ(read.chunks[5].kind.word(), "lost");
    EXPECT_EQ(read.chunks[5].end, file.bytes.size());
    ASSERT_EQ(read.damage.size(), 1u);
    EXPECT_EQ(read.damage[0].records_lost, 1u);
  }
}

// Returns a file of a chunk, offsets that point into the following bytes, one byte apart, and a last chunk.
std::string nowhere(std::size_t lost, std::size_t room) {
  FileShape shape{.digest = std::nullopt, .chunk_size = 60, .last_chunk = 60, .spare = static_cast<std::int64_t>(lost)};
  shape.chunks = plain_records(2, 60);
  shape.gap = room;
  MadeFile file = make_file(shape);
  put(file.bytes, 16, 8, lost + 2);
  put(file.bytes, 24, 8, 0);
  for (std::size_t i = 0; i < lost; ++i) put(file.bytes, file.offsets + 8 * (i + 1), 8, file.begins[0] + 60 + i);
  put(file.bytes, file.offsets + 8 * (lost + 1), 8, file.begins[1]);
  return file.bytes;
}

TEST(BloscpackDamage, LostChunksWithoutBytesDoNotTakeBytesFromThePreviousChunk) {
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{90}}) {
    const Read read = read_bytes(nowhere(10, room));
    ASSERT_EQ(read.records.size(), 12u) << room;
    EXPECT_EQ(read.records.back(), record(1, 60));
    for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(read.chunks[i].kind.word(), "lost");
    EXPECT_LE(*read.chunks[0].records, read.chunks[0].end - read.chunks[0].begin);
  }
  EXPECT_EQ(readable(read_bytes(nowhere(10, 160))), "0----------1");
}

TEST(BloscpackDamage, ManyInvalidOffsetsAreSkippedInSteps) {
  constexpr std::size_t kLost = 70000;
  const std::string bytes = nowhere(kLost, 16 * kLost);
  const auto container = open_bytes(bytes);
  const Read read = read_all(*container);
  ASSERT_EQ(read.records.size(), kLost + 2);
  EXPECT_EQ(read.records.back(), record(1, 60));
  const auto found = container->locate({}, read.chunks[1].end - 1).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, read.chunks[1].key);
  EXPECT_EQ(container->locate({}, bytes.size() - 16 * kLost - 1).value()->begin, read.chunks.back().begin);
}

TEST(BloscpackDamage, OffsetsThatPointIntoTheOffsetsAreNotReadOneByOne) {
  constexpr std::size_t kCount = 5000;
  MadeFile file = make_file({.is_variable = true, .count = -1, .chunks = plain_records(kCount, 4)});
  for (std::size_t i = 0; i < kCount; ++i) {
    put(file.bytes, file.offsets + 8 * i, 8, file.offsets + 8 * (kCount - 1 - i));
  }
  const auto source = std::make_shared<CountingSource>(file.bytes);
  ASSERT_TRUE(kFormat.open({}, source, {}));
  EXPECT_LT(source->take_reads(), 100u);
}

TEST(BloscpackDamage, OpenReadsNoChunkOfAnUndamagedFile) {
  FileShape shape = variable();
  shape.chunks = {plain_chunk("one"), plain_chunk(std::string(40 << 20, 'x')), plain_chunk("three")};
  for (const std::int64_t count : {std::int64_t{3}, std::int64_t{-1}}) {
    shape.count = count;
    const auto source = std::make_shared<CountingSource>(make_file(shape).bytes);
    ASSERT_TRUE(kFormat.open({}, source, {}));
    EXPECT_LT(source->take_read_bytes(), 1u << 20);
  }
}

TEST(BloscpackDamage, ChunksWithoutAnOffsetAreFoundWithAFewReadsEach) {
  constexpr std::size_t kCount = 2000;
  MadeFile file =
      make_file({.digest = std::nullopt, .chunk_size = 4, .last_chunk = 4, .chunks = plain_records(kCount, 4)});
  for (std::size_t i = 1; i + 1 < kCount; ++i) put(file.bytes, file.offsets + 8 * i, 8, file.begins[i] + 1);
  const auto source = std::make_shared<CountingSource>(file.bytes);
  const auto container = kFormat.open({}, source, {}).value();
  source->take_reads();
  std::vector<ChunkInfo> chunks;
  for (std::optional<ChunkKey> at = container->traits().first; at;) {
    const Step step = container->scan({}, *at).value();
    if (step.chunk) chunks.push_back(*step.chunk);
    at = step.next;
  }
  EXPECT_EQ(chunks.size(), kCount);
  EXPECT_LT(source->take_reads(), 10 * kCount);
  for (const ChunkInfo& chunk : chunks) EXPECT_EQ(container->locate({}, chunk.end - 1).value()->key, chunk.key);
  EXPECT_LT(source->take_reads(), 50 * kCount);
}

TEST(BloscpackDamage, BrokenHeaderInAChainLosesTheFollowingChunks) {
  FileShape shape = real();
  shape.has_offsets = false;
  MadeFile file = make_file(shape);
  file.bytes[file.begins[2]] = 9;
  const Read read = read_bytes(file.bytes);
  EXPECT_EQ(readable(read), "01");
  ASSERT_EQ(read.damage.size(), 1u);
  EXPECT_EQ(read.damage[0].records_lost, 4u);
}

TEST(BloscpackDamage, WrongOffsetOfARealFileLosesNothingAndIsReported) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1} << 40, ~std::uint64_t{0} - 1}) {
    for (const std::size_t index : {0u, 2u, 5u}) {
      MadeFile file = make_file(real());
      put(file.bytes, file.offsets + 8 * index, 8, value);
      const Read read = read_bytes(file.bytes);
      EXPECT_EQ(readable(read), "012345") << value << " for chunk " << index;
      EXPECT_NE(reasons(read), "");
    }
  }
  for (const std::uint64_t distance : {std::uint64_t{1}, std::uint64_t{30}, ~std::uint64_t{0}}) {
    MadeFile file = make_file(real());
    put(file.bytes, file.offsets + 16, 8, file.begins[2] + distance);
    const Read read = read_bytes(file.bytes);
    EXPECT_EQ(readable(read), "012345") << distance;
    EXPECT_NE(reasons(read), "");
  }
}

TEST(BloscpackDamage, WrongOffsetLosesOnlyItsItem) {
  for (const std::uint64_t value :
       {std::uint64_t{8}, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{0} - 1}) {
    MadeFile file = make_file(variable());
    put(file.bytes, file.offsets + 16, 8, value);
    const auto container = open_bytes(file.bytes);
    const Read read = read_all(*container);
    EXPECT_EQ(readable(read), "01-345") << value;
    EXPECT_FALSE(container->traits().is_in_file_order);
    EXPECT_EQ(read.chunks[2].begin, file.offsets + 16);
  }
}

TEST(BloscpackDamage, SecondItemAtTheSameOffsetIsDamage) {
  MadeFile file = make_file(variable());
  put(file.bytes, file.offsets + 8 * 4, 8, file.begins[1]);
  EXPECT_EQ(readable(read_bytes(file.bytes)), "0123-5");
}

TEST(BloscpackDamage, OverlappingItemsAreNotBothRead) {
  const std::string inner = plain_chunk("inner");
  FileShape shape = variable();
  shape.digest.reset();
  shape.chunks[1] = plain_chunk("[" + inner + "]");
  MadeFile file = make_file(shape);
  put(file.bytes, file.offsets + 8 * 4, 8, file.begins[1] + 17);
  const Read read = read_bytes(file.bytes);
  EXPECT_EQ(readable(read), "0-23-5");
  EXPECT_EQ(read.records[4], "inner");
}

TEST(BloscpackDamage, WrongCountsAreReported) {
  for (const FileShape& shape : {real(), variable()}) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{4}, std::int64_t{7}, std::int64_t{1} << 53,
                                     std::int64_t{1} << 60, std::int64_t{-7}, INT64_MAX}) {
      MadeFile file = make_file(shape);
      put(file.bytes, 16, 8, static_cast<std::uint64_t>(count));
      const Read read = read_bytes(file.bytes);
      EXPECT_EQ(readable(read), "012345") << count;
      EXPECT_NE(reasons(read), "") << count;
    }
  }
}

TEST(BloscpackDamage, WrongCountsOfAChainAreReported) {
  FileShape shape = real();
  shape.has_offsets = false;
  for (const std::int64_t count : {std::int64_t{4}, std::int64_t{7}, std::int64_t{1} << 60, std::int64_t{-7}}) {
    shape.count = count;
    const Read read = read_bytes(make_file(shape).bytes);
    EXPECT_EQ(readable(read), count == 4 ? "0123" : "012345") << count;
    EXPECT_NE(reasons(read), "") << count;
  }
}

TEST(BloscpackDamage, UnsupportedFileIsOneRegion) {
  const auto refused = [](std::size_t at, char value) {
    MadeFile file = make_file(real());
    file.bytes[at] = value;
    const Read read = read_bytes(file.bytes);
    EXPECT_TRUE(read.records.empty());
    ASSERT_EQ(read.damage.size(), 1u);
    EXPECT_EQ(read.damage[0].begin, 0u);
    EXPECT_EQ(read.damage[0].end, file.bytes.size());
    EXPECT_EQ(read.damage[0].damage_class, DamageClass::kUnsupported);
  };
  refused(4, 4);
  refused(4, 1);
  refused(5, 9);
  refused(6, 9);
}

TEST(BloscpackDamage, HeaderThatDeclaresTwoGigabytesIsRefusedAndTheRestIsRead) {
  for (const FileShape& shape : {real(), variable()}) {
    MadeFile file = make_file(shape);
    for (const std::size_t field : {4u, 8u}) put(file.bytes, file.begins[2] + field, 4, 2147483631);
    EXPECT_EQ(readable(read_bytes(file.bytes)), "01-345");
    file.bytes[file.begins[2] + 2] = 0x30;
    EXPECT_EQ(readable(read_bytes(file.bytes)), "01-345");
  }
}

TEST(BloscpackDamage, BrokenHeaderOfTheFirstItemIsNotMistakenForOffsets) {
  MadeFile file = make_file(variable());
  file.bytes[file.begins[0]] = 9;
  EXPECT_EQ(readable(read_bytes(file.bytes)), "-12345");
  file = make_file(shuffled());
  file.bytes[file.begins[3]] = 9;
  EXPECT_EQ(readable(read_bytes(file.bytes)), "012-45");
}

TEST(BloscpackDamage, LostFirstItemAfterUnusedOffsetsIsLocatedByAnyByte) {
  MadeFile file = make_file(variable());
  put(file.bytes, 16, 8, kChunks - 1);
  put(file.bytes, file.offsets + 8 * (kChunks - 1), 8, ~std::uint64_t{0});
  file.bytes[file.begins[0]] = 9;
  const auto container = open_bytes(file.bytes);
  EXPECT_EQ(readable(read_all(*container)), "-1234");
  for (const Position at : {file.begins[0] - 8, file.begins[0], file.begins[1] - 1}) {
    const auto found = container->locate({}, at);
    ASSERT_TRUE(found && *found) << at;
    EXPECT_EQ((*found)->begin, file.begins[0] - 8);
  }
}

// --- order

TEST(BloscpackOrder, LostChunksLargerThanTheFileAllowsHaveNoSize) {
  Survey survey;
  survey.header.chunk_size = 1000;
  EXPECT_EQ(describe_lost(survey, 0, 100, 0, 3).decoded_size, 3000u);
  EXPECT_EQ(describe_lost(survey, 0, 100, 0, std::uint64_t{1} << 60).decoded_size, std::nullopt);
  survey.header.chunk_size = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(describe_lost(survey, 0, 100, 0, 1).decoded_size, 2147483647u);
  EXPECT_EQ(describe_lost(survey, 0, 100, 0, 2).decoded_size, std::nullopt);
  EXPECT_EQ(describe_lost(survey, 0, 65536, 0, 2).decoded_size, 4294967294u);
}

}  // namespace
}  // namespace recordfs::bloscpack
