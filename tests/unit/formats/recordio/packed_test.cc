// Legacy packed records whose items a transform was applied to. Nothing names it.
#include <gtest/gtest.h>

#include "tests/unit/formats/recordio/packing.h"
#include "tests/unit/formats/recordio/reading.h"
#include "tests/writers/recordio/writer.h"

namespace recordfs::recordio {
namespace {

using namespace recordio_writer;

const Items kItems{text(3000), "", text(500, 'c')};

std::string joined() { return kItems[0] + kItems[2]; }

TEST(Packed, TheTransformIsFoundBySize) {
  for (const std::string& stored : {zstd(joined()), zstd(joined(), {.states_size = false}), flate(joined())}) {
    const Reading reading = read_file(packed(kItems, stored));
    EXPECT_EQ(reading.records, kItems);
    EXPECT_TRUE(reading.failures.empty());
  }
}

TEST(Packed, TheWordForTheTransformIsTold) {
  EXPECT_EQ(read_file(packed(kItems)).chunks.at(0).codec, "none");
  EXPECT_EQ(read_file(packed(kItems, zstd(joined()))).chunks.at(0).codec, "zstd");
  EXPECT_EQ(read_file(packed(kItems, flate(joined()))).chunks.at(0).codec, "flate");
  EXPECT_EQ(read_file(packed({"a"}, "abc")).chunks.at(0).codec, "-");
}

TEST(Packed, ItemsThatLookLikeZstdAreTakenAsTheyAreWhenTheirSizeFits) {
  const Items items{zstd("inner"), "b"};
  EXPECT_EQ(read_file(packed(items)).records, items);
}

TEST(Packed, WhatNoTransformExplainsIsDamage) {
  const Reading reading = read_file(packed(kItems, "too short") + unpacked("next"));
  EXPECT_EQ(reading.records, Items{"next"});
  EXPECT_EQ(reading.failures.at(0).code, Code::kDamage);
}

TEST(Packed, ATransformThatGivesMoreOrLessIsDamage) {
  EXPECT_EQ(read_file(packed(kItems, zstd(joined() + "x"))).failures.at(0).code, Code::kDamage);
  EXPECT_EQ(read_file(packed(kItems, flate(joined().substr(1)))).failures.at(0).code, Code::kDamage);
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

}  // namespace
}  // namespace recordfs::recordio
