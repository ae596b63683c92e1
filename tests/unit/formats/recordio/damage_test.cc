// Damaged files of the current format, with chunks aligned to 32 KiB.
#include <gtest/gtest.h>

#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

constexpr std::size_t kBody = kChunkSize;  // begin of the first body

// Returns a header, and blocks of one chunk each.
std::string three() { return header({}) + body({"one", "1"}) + body({"two"}) + body({"three"}); }

TEST(Damage, FlippedByteLosesOnlyItsBlock) {
  for (const std::size_t at : {0u, 8u, 12u, 16u, 20u, 24u, 28u, 31u}) {
    const Reading reading = read_file(flipped(three(), 2 * kChunkSize + at));
    EXPECT_EQ(reading.records, (Items{"one", "1", "three"})) << at;
    ASSERT_EQ(reading.damage.size(), 1u) << at;
    EXPECT_TRUE(reading.damage[0].starts_with("[65536,98304) damage: ")) << reading.damage[0];
  }
}

TEST(Damage, ChunksOutOfOrderLoseTheirBlock) {
  const std::string two = block(Magic::kBody, content_of({text(40000)}));
  const Reading reading = read_file(header({}) + two.substr(kChunkSize) + two.substr(0, kChunkSize) + body({"next"}));
  EXPECT_EQ(reading.records, Items{"next"});
  EXPECT_EQ(reading.damage, (Items{"[32768,65536) damage: the first chunk of a block is missing",
                                   "[65536,98304) damage: the block has 2 chunks, but the file holds 1"}));
}

// Returns items 0 to 3 of 30000 bytes and one of 5 bytes, stored in four chunks.
std::string wide() {
  return header({}) + body({text(30000, 'a'), text(30000, 'b'), text(30000, 'c'), text(30000, 'd'), "end"}) +
         body({"next"});
}

TEST(Damage, ItemsInUndamagedChunksOfAPlainBlockAreRead) {
  const Reading reading = read_file(flipped(wide(), kBody + 2 * kChunkSize + 40));
  EXPECT_EQ(reading.records, (Items{text(30000, 'a'), text(30000, 'b'), "end", "next"}));
  ASSERT_EQ(reading.failures.size(), 2u);
  EXPECT_EQ(reading.failures[0].position, kBody + 2 * kChunkSize);
  EXPECT_EQ(reading.failures[0].code, Code::kDamage);
}

TEST(Damage, WrongChunkSizeDoesNotShiftLaterItems) {
  const Reading reading = read_file(flipped(wide(), kBody + kChunkSize + 16, 4));
  EXPECT_EQ(reading.records, (Items{text(30000, 'a'), text(30000, 'd'), "end", "next"}));
  EXPECT_EQ(read_file(flipped(wide(), kBody + 3 * kChunkSize + 16, 4)).records,
            (Items{text(30000, 'a'), text(30000, 'b'), text(30000, 'c'), "next"}));
}

TEST(Damage, BrokenHeaderInsideAPlainBlockLosesTheItemsInItsChunk) {
  for (const std::size_t at : {0u, 18u, 20u, 24u}) {
    const Reading reading = read_file(flipped(wide(), kBody + 2 * kChunkSize + at, 0x40));
    EXPECT_EQ(reading.records, (Items{text(30000, 'a'), text(30000, 'b'), "end", "next"})) << at;
    EXPECT_EQ(reading.damage, Items{"[98304,131072) damage: no recordio chunk where one should begin"}) << at;
  }
}

TEST(Damage, SeveralConsecutiveChunksMayBeOverwritten) {
  const std::string whole = header({}) + body({text(30000), text(32740 * 8), "end"}) + body({"next"});
  for (const std::size_t chunks : {1u, 4u, 5u}) {
    std::string file = whole;
    file.replace(kBody + 2 * kChunkSize, chunks * kChunkSize, chunks * kChunkSize, '\0');
    const Reading reading = read_file(file);
    const Items expected = chunks == 5 ? Items{text(30000), "next"} : Items{text(30000), "end", "next"};
    EXPECT_EQ(reading.records, expected) << chunks;
    EXPECT_FALSE(reading.damage.empty()) << chunks;
  }
}

TEST(Damage, VerifyFailsIfDecodeOmitsRecords) {
  const auto container = open_file(flipped(wide(), kBody + 2 * kChunkSize + 40));
  const ChunkInfo chunk = container->scan({}, {kBody, 0}).value().chunk.value();
  EXPECT_EQ(container->verify({}, chunk).error().code, Code::kDamage);
  EXPECT_TRUE(container->decode({}, chunk).value()->layout().has_failures());
}

TEST(Damage, TruncatedPlainBlockYieldsItsCompleteItems) {
  const Reading reading = read_file(wide().substr(0, kBody + 2 * kChunkSize));
  EXPECT_EQ(reading.records, (Items{text(30000, 'a'), text(30000, 'b')}));
  EXPECT_EQ(reading.failures.size(), 3u);
  EXPECT_EQ(reading.failures[0].code, Code::kUnfinished);
  EXPECT_EQ(reading.damage, Items{"[32768,98304) unfinished: the block has 4 chunks, but the file holds 2"});
}

TEST(Damage, TruncationInsideAChunkIsUnfinished) {
  const Reading reading = read_file(wide().substr(0, kBody + 2 * kChunkSize + 100));
  EXPECT_EQ(reading.records.size(), 2u);
  EXPECT_EQ(reading.damage, (Items{"[32768,98304) unfinished: the block has 4 chunks, but the file holds 2",
                                   "[98304,98404) unfinished: the file ends inside a chunk"}));
  for (const std::size_t rest : {3u, 20u, 29u, 40u}) {
    const Reading cut = read_file(three().substr(0, 3 * kChunkSize + rest));
    EXPECT_EQ(cut.records.size(), rest < 35 ? 3u : 4u) << rest;
    EXPECT_TRUE(cut.damage.at(0).find("unfinished") != std::string::npos) << cut.damage[0];
  }
}

TEST(Damage, TruncationInPaddingLosesNothingAndIsReported) {
  const Reading reading = read_file(three().substr(0, 3 * kChunkSize + 500));
  EXPECT_EQ(reading.records.size(), 4u);
  EXPECT_EQ(reading.damage, Items{"[98339,98804) unfinished: a part of a chunk's padding is missing"});
}

TEST(Damage, ChunkMissingFromTheMiddleTruncatesItsBlock) {
  std::string file = wide();
  file.erase(kBody + kChunkSize, kChunkSize);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, (Items{text(30000, 'a'), "next"}));
  EXPECT_EQ(reading.damage, (Items{"[32768,65536) damage: the block has 4 chunks, but the file holds 1",
                                   "[65536,131072) damage: the first chunk of a block is missing"}));
}

TEST(Damage, TooLargeTotalLosesNothing) {
  const std::string file = header({}) + chunk({.payload = content_of({"a", "b"}), .total = 2}) + body({"c"});
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, (Items{"a", "b", "c"}));
  EXPECT_EQ(reading.damage, Items{"[32768,65536) damage: the block has 2 chunks, but the file holds 1"});
}

TEST(Damage, HostileTotalIsBoundedByTheFile) {
  const std::string content = varint(1) + varint(std::uint64_t{100} << 30) + "abc";
  for (const std::uint32_t total : {0xFFFFFFFFu, 0x10000000u}) {
    const Reading reading = read_file(header({}) + chunk({.payload = content, .total = total}) + body({"c"}));
    EXPECT_EQ(reading.records, Items{"c"});
    EXPECT_EQ(reading.failures.at(0).code, Code::kLimit);
  }
  const Reading none = read_file(header({}) + chunk({.payload = "x", .total = 0}) + body({"c"}));
  EXPECT_EQ(none.records, Items{"c"});
}

TEST(Damage, GarbageInPlaceOfChunksIsOneRegion) {
  const std::string file = header({}) + std::string(5 * kChunkSize, 'x') + body({"c"});
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, Items{"c"});
  EXPECT_EQ(reading.damage, Items{"[32768,196608) damage: no recordio chunk where one should begin"});
}

TEST(Damage, SearchOfManyStepsReportsOneReason) {
  Limits limits;
  limits.scan_bytes = 4096;
  std::string file = header({}) + block(Magic::kBody, text(5 * kChunkSize)) + body({"c"});
  const Reading reading = read_file(flipped(file, kBody + 100), limits);
  EXPECT_EQ(reading.records, Items{"c"});
  for (const std::string& region : reading.damage) {
    EXPECT_TRUE(region.ends_with("damage: the checksum of a chunk does not match")) << region;
  }
}

}  // namespace
}  // namespace recordfs::recordio
