// Legacy packed records with transformed items. The file does not name the transformer.
#include <gtest/gtest.h>

#include "tests/unit/formats/recordio/packing.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

const Items kPackedItems{text(3000), "", text(500, 'c')};

std::string joined() { return kPackedItems[0] + kPackedItems[2]; }

TEST(Packed, TransformIsDetectedByTheSize) {
  for (const std::string& stored : {zstd(joined()), zstd(joined(), {.states_size = false}), flate(joined())}) {
    const Reading reading = read_file(packed(kPackedItems, stored));
    EXPECT_EQ(reading.records, kPackedItems);
    EXPECT_TRUE(reading.failures.empty());
  }
}

TEST(Packed, CodecIsTheNameOfTheTransform) {
  EXPECT_EQ(read_file(packed(kPackedItems)).chunks.at(0).codec, "none");
  EXPECT_EQ(read_file(packed(kPackedItems, zstd(joined()))).chunks.at(0).codec, "zstd");
  EXPECT_EQ(read_file(packed(kPackedItems, flate(joined()))).chunks.at(0).codec, "flate");
  EXPECT_EQ(read_file(packed({"a"}, "abc")).chunks.at(0).codec, "-");
}

TEST(Packed, ItemsThatLookLikeZstdAreTakenUnchangedIfTheirSizeFits) {
  const Items items{zstd("inner"), "b"};
  EXPECT_EQ(read_file(packed(items)).records, items);
}

TEST(Packed, BytesThatNoTransformExplainsAreDamage) {
  const Reading reading = read_file(packed(kPackedItems, "too short") + unpacked("next"));
  EXPECT_EQ(reading.records, Items{"next"});
  EXPECT_EQ(reading.failures.at(0).code, Code::kDamage);
}

TEST(Packed, TransformWithAWrongOutputSizeIsDamage) {
  EXPECT_EQ(read_file(packed(kPackedItems, zstd(joined() + "x"))).failures.at(0).code, Code::kDamage);
  EXPECT_EQ(read_file(packed(kPackedItems, flate(joined().substr(1)))).failures.at(0).code, Code::kDamage);
}

// No checksum covers the output before the error.
TEST(Packed, BrokenTransformYieldsNothingHoweverLong) {
  const Items items{text(200'000), text(300'000, 'c')};
  const std::string all = items[0] + items[1];
  for (const std::string& stored : {zstd(all), flate(all, 0)}) {
    EXPECT_EQ(read_file(packed(items, stored)).records, items);
    const Reading reading = read_file(packed(items, stored.substr(0, stored.size() - 1)));
    EXPECT_EQ(reading.records, Items());
    EXPECT_EQ(reading.failures.at(0).code, Code::kDamage);
  }
}

TEST(Packed, FlippedTypeOfAShortDeflateStreamYieldsNoItem) {
  const std::string stored = flate("qj");  // fixed Huffman codes
  ASSERT_GT(stored.size(), 2u);
  for (std::size_t bit = 0; bit < 3; ++bit) {
    std::string flipped = stored;
    flipped[0] = static_cast<char>(flipped[0] ^ 1 << bit);
    const Reading reading = read_file(packed({"q", "j"}, flipped));
    EXPECT_TRUE(reading.records.empty() || reading.records == (Items{"q", "j"})) << bit;
  }
}

TEST(Packed, HostileSizesOfATransformAreRefused) {
  const std::string zeros = zstd(std::string(1 << 20, '\0'));
  std::string bomb;
  for (int i = 0; i < 100; ++i) bomb += zeros;
  Limits limits;
  limits.decoded_chunk = 1 << 20;
  const std::string file = packed({std::string(100 << 20, '\0')}, bomb) + unpacked("next");
  const Reading reading = read_file(file, limits);
  EXPECT_EQ(reading.records, Items{"next"});
  EXPECT_EQ(reading.damage.size(), 1u);
}

TEST(Packed, WindowBeyondTheLimitIsRefusedBeforeAllocation) {
  Limits limits;
  limits.decoded_chunk = 4 << 20;
  const std::string wide = zstd("small", {.states_size = false, .window_log = 27});
  for (const std::string& stored : {wide, zstd("") + wide}) {
    const std::string file = packed({"small"}, stored) + unpacked("next");
    const Reading reading = read_file(file, limits);
    EXPECT_EQ(reading.records, Items{"next"});
    EXPECT_EQ(reading.failures.at(0).code, Code::kLimit);
    EXPECT_EQ(read_file(file).records, (Items{"small", "next"}));
  }
}

}  // namespace
}  // namespace recordfs::recordio
