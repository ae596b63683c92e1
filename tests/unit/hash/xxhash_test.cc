#include "core/hash/xxhash.h"

#include <gtest/gtest.h>

#include <string>

namespace recordfs {
namespace {

// Output of xxhsum 0.8.1 -H0, -H1, -H3 and -H2; the last one is of XXH3_128bits_withSeed() of xxHash 0.8.1.
TEST(XxHash, YieldsThePublishedValues) {
  EXPECT_EQ(xxh32({}), 0x02cc5d05u);
  EXPECT_EQ(xxh64({}), 0xef46db3751d8e999u);
  EXPECT_EQ(xxh3({}), 0x2d06800538d394c2u);
  EXPECT_EQ(xxh32(as_bytes("abc")), 0x32d153ffu);
  EXPECT_EQ(xxh64(as_bytes("abc")), 0x44bc2cf5ad770999u);
  EXPECT_EQ(xxh3(as_bytes("abc")), 0x78af5f94892f3950u);
  EXPECT_EQ(xxh3_128(as_bytes("abc"), 0).high, 0x06b05ab6733a6185u);
  EXPECT_EQ(xxh3_128(as_bytes("abc"), 0).low, 0x78af5f94892f3950u);
  EXPECT_EQ(xxh3_128(as_bytes("abc"), 7).high, 0x8a3c1b87ceb230eeu);
}

TEST(XxHash, LongInputDependsOnItsLastByte) {
  std::string text(10000, 'x');
  const auto all = [&] { return xxh32(as_bytes(text)) ^ xxh64(as_bytes(text)) ^ xxh3(as_bytes(text)); };
  const std::uint64_t before = all();
  text.back() = 'y';
  EXPECT_NE(all(), before);
}

}  // namespace
}  // namespace recordfs
