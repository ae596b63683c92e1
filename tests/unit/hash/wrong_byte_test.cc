#include "core/hash/wrong_byte.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/hash/crc32c.h"

namespace recordfs {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

bool yes() { return true; }
bool no() { return false; }

TEST(WrongByte, EachWrongByteIsCorrected) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{8}, kMostCorrected}) {
    const auto right = counting(size);
    const std::uint32_t stored = mask_crc(crc32c(right));
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned by = 1; by < 256; ++by) {
        auto bytes = right;
        bytes[at] ^= static_cast<std::byte>(by);
        EXPECT_TRUE(correct_one_byte(bytes, stored, yes)) << at << " " << by;
        EXPECT_EQ(bytes, right) << at << " " << by;
      }
    }
  }
}

TEST(WrongByte, BytesStayIfTheChecksumHasTheWrongByte) {
  const auto right = counting(12);
  for (int bit = 0; bit < 32; ++bit) {
    auto bytes = right;
    EXPECT_TRUE(correct_one_byte(bytes, mask_crc(crc32c(right)) ^ (1u << bit), yes));
    EXPECT_EQ(bytes, right);
  }
}

TEST(WrongByte, RefusedCorrectionsLeaveTheBytesUnchanged) {
  auto bytes = counting(24);
  const std::uint32_t stored = mask_crc(crc32c(bytes));
  bytes[5] ^= std::byte{0x40};
  const auto wrong = bytes;
  EXPECT_FALSE(correct_one_byte(bytes, stored, no));
  EXPECT_EQ(bytes, wrong);
}

TEST(WrongByte, TwoWrongBytesAreNotCorrected) {
  auto bytes = counting(24);
  const std::uint32_t stored = mask_crc(crc32c(bytes));
  bytes[5] ^= std::byte{0x40};
  bytes[17] ^= std::byte{0x01};
  EXPECT_FALSE(correct_one_byte(bytes, stored, yes));
}

}  // namespace
}  // namespace recordfs
