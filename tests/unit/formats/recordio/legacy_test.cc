// The legacy format: unaligned records, packed or not.
#include <gtest/gtest.h>

#include "core/formats/recordio/format.h"
#include "core/hash/crc32.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/unit/support/counting_source.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using testing::CountingSource;
using namespace recordio_writer;

// "one" at 0, "two" at 23, "three" at 46; 71 bytes.
std::string three_unpacked() { return unpacked("one") + unpacked("two") + unpacked("three"); }

TEST(Legacy, PackedAndUnpackedMayBeMixed) {
  const Reading reading = read_file(unpacked("one") + packed({"two", "", "three"}) + unpacked("") + packed({"four"}));
  EXPECT_EQ(reading.records, (Items{"one", "two", "", "three", "", "four"}));
  ASSERT_EQ(reading.chunks.size(), 4u);
  EXPECT_EQ(reading.chunks[0].kind.word(), "unpacked");
  EXPECT_EQ(reading.chunks[1].kind.word(), "packed");
  EXPECT_EQ(reading.chunks[1].records, 3u);
  EXPECT_EQ(reading.chunks[1].decoded_size, 8u);
  EXPECT_EQ(reading.chunks[1].codec, "none");
}

TEST(Legacy, StepReadsTheHeaderAndTheItemTableIfNeeded) {
  const auto source = std::make_shared<CountingSource>(unpacked("one") + packed({"two"}) + packed({"two"}, "and more"));
  const auto container = kFormat.open({}, source, {}).value();
  std::optional<ChunkKey> at = container->traits().first;
  for (const std::uint64_t reads : {1u, 2u, 3u}) {
    source->take_reads();
    const Step step = container->scan({}, *at).value();
    EXPECT_EQ(step.chunk->records, 1u);
    EXPECT_EQ(source->take_reads(), reads);
    at = step.next;
  }
  EXPECT_FALSE(at);
}

TEST(Legacy, DamagedItemIsNotDetected) {
  const auto container = open_file(unpacked("one"));
  EXPECT_EQ(container->verify({}, container->scan({}, {}).value().chunk.value()).value(), Verification::kNoChecksum);
  EXPECT_FALSE(container->traits().has_seek_structure);
}

TEST(Legacy, DamagedHeaderLosesOnlyItsRecord) {
  for (const std::size_t at : {23u, 30u, 31u, 38u, 39u}) {
    const Reading reading = read_file(flipped(three_unpacked(), at));
    EXPECT_EQ(reading.records, (Items{"one", "three"})) << at;
    EXPECT_EQ(reading.damage, Items{"[23,46) damage: no legacy recordio record where one should begin"}) << at;
  }
}

TEST(Legacy, BytesBetweenRecordsAreDamage) {
  const Reading reading = read_file(unpacked("one") + std::string(33, 'x') + unpacked("two"));
  EXPECT_EQ(reading.records, (Items{"one", "two"}));
  EXPECT_EQ(reading.damage, Items{"[23,56) damage: no legacy recordio record where one should begin"});
}

// A payload may contain another recordio file, so a record that is only cut off is not searched.
TEST(Legacy, TruncatedTailIsNotSearchedForRecords) {
  const std::string file = unpacked("one") + unpacked(three_unpacked() + text(1000));
  EXPECT_EQ(read_file(file.substr(0, 500)).records, Items{"one"});
}

TEST(Legacy, ImpossibleLengthIsDamage) {
  const std::string length{"\1\0\0\x20\0\0\0\0", 8};
  const std::uint32_t sum = crc32(as_bytes(length));
  std::string file = three_unpacked();
  file.replace(23 + 8, 8, length);
  for (unsigned i = 0; i < 4; ++i) file[23 + 16 + i] = static_cast<char>(sum >> (8 * i) & 0xFF);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, (Items{"one", "three"}));
  EXPECT_EQ(reading.damage, Items{"[23,46) damage: a record is longer than the writers' limit and the file"});
}

TEST(Legacy, DamagedTableLosesOnlyItsRecord) {
  const std::string file = flipped(unpacked("one") + packed({"two", "three"}) + unpacked("four"), 23 + 25);
  const Reading reading = read_file(file);
  EXPECT_EQ(reading.records, (Items{"one", "four"}));
  EXPECT_EQ(reading.damage, Items{"[23,58) damage: the checksum of a packed record's item sizes does not match"});
}

TEST(Legacy, HostileCountIsRefusedAndTheRestIsRead) {
  Limits limits;
  limits.records_per_chunk = 3;
  const Reading reading = read_file(unpacked("one") + packed({"a", "b", "c", "d"}) + unpacked("two"), limits);
  EXPECT_EQ(reading.records, (Items{"one", "two"}));
  EXPECT_EQ(reading.damage.size(), 1u);
}

TEST(Legacy, PartOfALargeItemIsReadFromTheFile) {
  const std::string big = text(3000000);
  const auto container = open_file(unpacked("one") + unpacked(big) + packed({"a", big}));
  const Reading reading = read_all(*container);
  const auto unpacked_part = container->open_in_place({}, reading.chunks.at(1)).value();
  EXPECT_EQ(as_text(unpacked_part->read({}, 2000000, 10).value().bytes), big.substr(2000000, 10));
  EXPECT_LT(unpacked_part->memory(), 1000u);
  const auto packed_part = container->open_in_place({}, reading.chunks.at(2)).value();
  EXPECT_EQ(as_text(packed_part->read({}, 1 + 2000000, 10).value().bytes), big.substr(2000000, 10));
}

TEST(Legacy, SearchContinuesOverManySteps) {
  Limits limits;
  limits.scan_bytes = 4096;
  const std::string file = unpacked("one") + std::string(1000000, 'x') + unpacked("two");
  EXPECT_EQ(read_file(file, limits).records, (Items{"one", "two"}));
}

}  // namespace
}  // namespace recordfs::recordio
