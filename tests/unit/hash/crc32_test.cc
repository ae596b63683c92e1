#include "core/hash/crc32.h"

#include <gtest/gtest.h>

#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

TEST(Crc32, ChecksumOf123456789IsTheCheckValue) { EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926u); }

TEST(Crc32, EmptyInputIsZeroAndKeepsAPreviousValue) {
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32({}, 0x12345678), 0x12345678u);
}

TEST(Crc32, TwoPiecesEqualTheWholeAtEverySplit) {
  testing::Guarded bytes(1000);
  for (std::size_t i = 0; i < 1000; ++i) bytes.span()[i] = static_cast<std::byte>(i * i >> 3);
  const std::uint32_t whole = crc32(bytes.view());
  for (std::size_t split = 0; split <= 1000; ++split) {
    const std::uint32_t first = crc32(bytes.view().first(split));
    ASSERT_EQ(crc32(bytes.view().subspan(split), first), whole) << split;
  }
}

}  // namespace
}  // namespace recordfs
