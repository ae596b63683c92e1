#include "core/hash/crc32c.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

std::array<unsigned char, 32> counting_up() {
  std::array<unsigned char, 32> bytes{};
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  return bytes;
}

Bytes view(const std::array<unsigned char, 32>& bytes) { return std::as_bytes(std::span(bytes)); }

TEST(Crc32c, ChecksumOf123456789IsTheCheckValue) { EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283u); }

TEST(Crc32c, EmptyInputIsZeroAndKeepsAPreviousValue) {
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c({}, 0x12345678), 0x12345678u);
}

// RFC 3720, B.4, whose bytes are in wire order.
TEST(Crc32c, ExamplesOfRfc3720AreCorrect) {
  std::array<unsigned char, 32> bytes{};
  EXPECT_EQ(crc32c(view(bytes)), 0x8A9136AAu);
  bytes.fill(0xFF);
  EXPECT_EQ(crc32c(view(bytes)), 0x62A8AB43u);
  bytes = counting_up();
  EXPECT_EQ(crc32c(view(bytes)), 0x46DD794Eu);
  std::ranges::reverse(bytes);
  EXPECT_EQ(crc32c(view(bytes)), 0x113FDB5Cu);
}

TEST(Crc32c, TwoPiecesEqualTheWholeAtEverySplit) {
  testing::Guarded bytes(1000);
  for (std::size_t i = 0; i < 1000; ++i) bytes.span()[i] = static_cast<std::byte>(i * i >> 3);
  const std::uint32_t whole = crc32c(bytes.view());
  for (std::size_t split = 0; split <= 1000; ++split) {
    const std::uint32_t first = crc32c(bytes.view().first(split));
    ASSERT_EQ(crc32c(bytes.view().subspan(split), first), whole) << split;
  }
}

TEST(Crc32c, InputOfAnySizeEqualsItsBytesOneByOne) {
  testing::Guarded bytes(600);
  for (std::size_t i = 0; i < 600; ++i) bytes.span()[i] = static_cast<std::byte>(i * i >> 3);
  std::uint32_t one_by_one = 0;
  for (std::size_t size = 0; size < 600; ++size) {
    ASSERT_EQ(crc32c(bytes.view().first(size)), one_by_one) << size;
    one_by_one = crc32c(bytes.view().subspan(size, 1), one_by_one);
  }
}

TEST(Crc32c, MoreThanTwoGibibytesAreHashed) {
  constexpr std::size_t kSize = (std::size_t{1} << 31) + 17;
  void* zeros = ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  const Bytes bytes(static_cast<const std::byte*>(zeros), kSize);
  std::uint32_t pieces = 0;
  for (Bytes rest = bytes; !rest.empty();) {
    const Bytes piece = rest.first(std::min(rest.size(), std::size_t{100} << 20));
    pieces = crc32c(piece, pieces);
    rest = rest.subspan(piece.size());
  }
  EXPECT_EQ(crc32c(bytes), pieces);
  ::munmap(zeros, kSize);
}

TEST(MaskedCrc, MasksAsLevelDbDoes) {
  EXPECT_EQ(mask_crc(0), 0xA282EAD8u);
  EXPECT_EQ(mask_crc(0x00008000), 0xA282EAD9u);
  EXPECT_EQ(mask_crc(1), 0xA284EAD8u);
}

TEST(MaskedCrc, UnmaskingIsTheInverse) {
  for (const std::uint32_t crc : {0u, 1u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 0xE3069283u}) {
    EXPECT_EQ(unmask_crc(mask_crc(crc)), crc);
    EXPECT_EQ(mask_crc(unmask_crc(crc)), crc);
    EXPECT_NE(mask_crc(crc), crc);
  }
}

}  // namespace
}  // namespace recordfs
