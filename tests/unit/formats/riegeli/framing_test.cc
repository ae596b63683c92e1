#include "core/formats/riegeli/framing.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/formats/riegeli/files.h"

namespace recordfs::riegeli {
namespace {

using riegeli_writer::ChunkSpec;
using riegeli_writer::simple_chunk;
using riegeli_writer::Writer;

std::vector<std::string> bytes_of(const Reading& reading) {
  std::vector<std::string> bytes;
  for (const ReadRecord& record : reading.records) bytes.push_back(record.bytes);
  return bytes;
}

bool is_subset(const Reading& part, const Reading& whole) {
  return std::ranges::all_of(part.records, [&](const ReadRecord& record) {
    return std::ranges::find(whole.records, record) != whole.records.end();
  });
}

TEST(Framing, ChunkIsReadAtEveryDistanceFromABlockBoundary) {
  for (std::uint64_t distance = 0; distance <= 80; ++distance) {
    Writer writer;
    writer.pad_to(kBlockSize - distance);
    ASSERT_EQ(writer.size(), kBlockSize - distance);
    const std::uint64_t begin = writer.add(simple_chunk({"one", "", "three"}));
    writer.add(simple_chunk({"behind"}));
    const auto container = open_bytes(writer.file());
    const Walk all = walk(*container, writer.size());
    EXPECT_TRUE(all.damage.empty());
    ASSERT_EQ(all.chunks.size(), 4u) << distance;
    EXPECT_EQ(all.chunks[2].begin, begin);
    EXPECT_EQ(all.chunks[2].codec, "none");
    EXPECT_EQ(bytes_of(read_all(*container, all.chunks)), (std::vector<std::string>{"one", "", "three", "behind"}));
    auto found = container->locate({}, begin + 1);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->begin, begin);
  }
}

TEST(Framing, UnknownTypeWithRecordsIsUnsupportedAndKeepsItsCount) {
  Writer writer;
  writer.add({.type = 'Q', .num_records = 2, .decoded_data_size = 5, .data = "hello"});
  const auto container = open_bytes(writer.file());
  const Walk all = walk(*container, writer.size());
  ASSERT_EQ(all.chunks.size(), 2u);
  EXPECT_EQ(all.chunks[1].records, 2u);
  EXPECT_EQ(all.chunks[1].decoded_size, 5u);
  auto chunk = container->decode({}, all.chunks[1]);
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code, Code::kUnsupported);
}

TEST(Framing, RecordsInSignatureMetadataOrPaddingAreDamage) {
  for (const char type : {'s', 'm', 'p'}) {
    Writer writer;
    writer.add({.type = type, .num_records = 2});
    writer.add(simple_chunk({"a"}));
    const Reading reading = read_file(writer.file());
    ASSERT_EQ(reading.errors.size(), 1u) << type;
    EXPECT_EQ(reading.errors[0].code, Code::kDamage);
    EXPECT_EQ(reading.records.size(), 1u);
  }
}

TEST(Damage, BrokenFirstBlockHeaderLosesNothing) {
  std::string file = many_chunks(2 * kBlockSize);
  const Reading whole = read_file(file);
  flip(file, 9);
  EXPECT_EQ(read_file(file).records, whole.records);
  const Walk all = walk_file(file);
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, 0u);
  EXPECT_EQ(all.damage[0].end, kBlockHeaderSize);
  EXPECT_EQ(all.damage[0].records_lost, 0u);
}

TEST(Damage, ZeroedFirstBlockIsSkippedByTheSecondBlockHeader) {
  std::string file = many_chunks(3 * kBlockSize);
  const Reading whole = read_file(file);
  std::fill_n(file.begin(), kBlockSize - 5000, '\0');
  const Walk all = walk_file(file);
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, 0u);
  ASSERT_FALSE(all.chunks.empty());
  EXPECT_EQ(all.damage[0].end, all.chunks[0].begin);
  // The chunk that the second block's header interrupts begins before it and is valid.
  EXPECT_LE(all.chunks[0].begin, kBlockSize);
  EXPECT_TRUE(is_subset(read_file(file), whole));
}

TEST(Damage, NextChunkIsReadAfterABrokenChunkHeader) {
  std::string file = many_chunks(2 * kBlockSize);
  const Walk before = walk_file(file);
  const ChunkInfo broken = before.chunks[3];
  flip(file, broken.begin + 10);
  const Walk all = walk_file(file);
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, broken.begin);
  EXPECT_EQ(all.damage[0].end, broken.end);
  EXPECT_FALSE(all.damage[0].records_lost);
  EXPECT_EQ(all.chunks[3].begin, broken.end);
  EXPECT_EQ(all.chunks.size(), before.chunks.size() - 1);
}

TEST(Damage, BrokenChunkHeaderInterruptedByABlockHeaderEndsWhereThatSays) {
  Writer writer;
  writer.pad_to(kBlockSize - 10);
  const std::uint64_t begin = writer.add(simple_chunk(texts(5)));
  const std::uint64_t following = writer.add(simple_chunk({"behind"}));
  std::string file = writer.file();
  flip(file, begin + 5);
  const Walk all = walk_file(file);
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, begin);
  EXPECT_EQ(all.damage[0].end, following);
  EXPECT_EQ(bytes_of(read_file(file)), (std::vector<std::string>{"behind"}));
}

TEST(Damage, FileWithoutSignatureIsReadFromTheSecondChunk) {
  Writer writer{std::string()};
  writer.add(simple_chunk({"first"}));
  writer.add(simple_chunk({"second"}));
  const Walk all = walk_file(writer.file());
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, 0u);
  EXPECT_EQ(bytes_of(read_file(writer.file())), (std::vector<std::string>{"second"}));
}

TEST(Damage, ScanResumesAtTheNextCompleteChunkAfterLostBlocks) {
  const std::string file = many_chunks(6 * kBlockSize);
  const Reading whole = read_file(file);
  const std::string cut = file.substr(0, kBlockSize) + file.substr(3 * kBlockSize);
  const Reading rest = read_file(cut);
  EXPECT_FALSE(walk_file(cut).damage.empty());
  // The records of five of seven blocks, except for the two chunks at the cut.
  EXPECT_GE(rest.records.size() + 20, whole.records.size() * 4 / 6);
  for (const ReadRecord& record : rest.records) {
    EXPECT_TRUE(std::ranges::any_of(whole.records, [&](const auto& r) { return r.bytes == record.bytes; }));
  }
}

TEST(Damage, DataSizeContradictingItsBlockHeaderIsDetectedByTheScan) {
  Writer writer;
  writer.add(simple_chunk(texts(4)));
  ChunkSpec liar = simple_chunk(texts(4));
  liar.data_size = 1 << 20;
  const std::uint64_t begin = writer.add(liar);
  while (writer.size() < 2 * kBlockSize) writer.add(simple_chunk(texts(10, 90)));
  const Walk all = walk_file(writer.file());
  ASSERT_FALSE(all.damage.empty());
  EXPECT_EQ(all.damage[0].begin, begin);
  EXPECT_EQ(all.damage[0].damage_class, DamageClass::kDamage);
  EXPECT_LE(all.damage[0].end, kBlockSize);
}

TEST(Limits, CountBeyondTheLimitIsDamageOfTheHeader) {
  Writer writer;
  writer.add(simple_chunk(texts(8)));
  writer.add(simple_chunk({"a"}));
  Limits limits;
  limits.records_per_chunk = 5;
  const Walk all = walk_file(writer.file(), limits);
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, 64u);
  EXPECT_EQ(all.chunks.back().records, 1u);
}

TEST(Limits, ChunkBeyondTheSizeLimitsIsListedButNotDecoded) {
  Writer writer;
  writer.add(simple_chunk({std::string(5000, 'x')}));
  for (const bool stored : {true, false}) {
    Limits limits;
    (stored ? limits.stored_chunk : limits.decoded_chunk) = 4000;
    const auto container = open_bytes(writer.file(), limits);
    const Walk all = walk(*container, writer.size());
    ASSERT_EQ(all.chunks.size(), 2u);
    auto chunk = container->decode({}, all.chunks[1]);
    ASSERT_FALSE(chunk);
    EXPECT_EQ(chunk.error().code, Code::kLimit);
    EXPECT_TRUE(container->verify({}, all.chunks[1]));
    const auto layout = container->layout({}, all.chunks[1]);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->extent(0).size, 5000u);
  }
}

TEST(Limits, ChunkThatDeclaresAnImpossibleSizeHasNoSize) {
  Writer writer;
  auto claim = simple_chunk({"x"});
  claim.decoded_data_size = std::uint64_t{1} << 62;
  writer.add(claim);
  const auto container = open_bytes(writer.file());
  const Walk all = walk(*container, writer.size());
  ASSERT_EQ(all.chunks.size(), 2u);
  EXPECT_EQ(all.chunks[1].records, 1u);
  EXPECT_EQ(all.chunks[1].decoded_size, std::nullopt);
  EXPECT_EQ(container->layout({}, all.chunks[1]).error().code, Code::kLimit);
  EXPECT_EQ(container->decode({}, all.chunks[1]).error().code, Code::kLimit);
  EXPECT_EQ(container->open_in_place({}, all.chunks[1]).error().code, Code::kLimit);
}

TEST(Limits, UncompressedChunkBeyondTheSizeLimitsIsReadInPlace) {
  Writer writer;
  writer.add(simple_chunk({"first", std::string(5000, 'x'), "last"}));
  const auto container = open_bytes(writer.file(), {.stored_chunk = 4000, .decoded_chunk = 4000});
  const Walk all = walk(*container, writer.size());
  ASSERT_EQ(all.chunks.size(), 2u);
  const auto chunk = container->open_in_place({}, all.chunks[1]);
  ASSERT_TRUE(chunk);
  ASSERT_NE(*chunk, nullptr);
  EXPECT_EQ(records_of(**chunk).value_or(std::vector<std::string>()),
            (std::vector<std::string>{"first", std::string(5000, 'x'), "last"}));
}

TEST(Limits, RecordSizesBeyondTheLimitAreNotRead) {
  Writer writer;
  writer.add(simple_chunk(std::vector<std::string>(5000, "x")));
  const auto container = open_bytes(writer.file(), {.stored_chunk = 4000});
  const Walk all = walk(*container, writer.size());
  ASSERT_EQ(all.chunks.size(), 2u);
  EXPECT_EQ(container->layout({}, all.chunks[1]).error().code, Code::kLimit);
  EXPECT_EQ(container->open_in_place({}, all.chunks[1]).error().code, Code::kLimit);
}

TEST(Limits, LongGarbageIsSearchedInAdvancingSteps) {
  std::string file = many_chunks(1000);
  const std::uint64_t begin_of_garbage = file.size();
  file.resize(40 * kBlockSize, 'g');
  Writer rest(file);
  rest.add(simple_chunk({"behind the garbage"}));
  Limits limits;
  limits.scan_bytes = 16 << 10;
  const auto container = open_bytes(rest.file(), limits);
  const Walk all = walk(*container, rest.size());
  ASSERT_EQ(all.damage.size(), 1u);
  EXPECT_EQ(all.damage[0].begin, begin_of_garbage);
  EXPECT_EQ(all.damage[0].end, 40 * kBlockSize);
  EXPECT_EQ(all.chunks.back().begin, 40 * kBlockSize);
  EXPECT_GT(all.steps, all.chunks.size() + 5);
}

}  // namespace
}  // namespace recordfs::riegeli
