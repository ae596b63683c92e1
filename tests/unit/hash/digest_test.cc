#include "core/hash/digest.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace recordfs {
namespace {

constexpr std::array kAll = {DigestId::kAdler32, DigestId::kCrc32,  DigestId::kMd5,    DigestId::kSha1,
                             DigestId::kSha224,  DigestId::kSha256, DigestId::kSha384, DigestId::kSha512};

std::string hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : digest.view()) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

Digest digest_of(DigestId id, Bytes bytes) {
  Digester digester(id);
  digester.append(bytes);
  return digester.finish();
}

std::string of_abc(DigestId id) { return hex(digest_of(id, as_bytes("abc"))); }

// RFC 1321, FIPS 180-4, and zlib's two numbers with the low byte first.
TEST(Digest, HashOfAbcIsThePublishedOne) {
  EXPECT_EQ(of_abc(DigestId::kAdler32), "27014d02");
  EXPECT_EQ(of_abc(DigestId::kCrc32), "c2412435");
  EXPECT_EQ(of_abc(DigestId::kMd5), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(of_abc(DigestId::kSha1), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(of_abc(DigestId::kSha224), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
  EXPECT_EQ(of_abc(DigestId::kSha256), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of_abc(DigestId::kSha384).substr(0, 32), "cb00753f45a35e8bb5a03d699ac65007");
  EXPECT_EQ(of_abc(DigestId::kSha512).substr(0, 32), "ddaf35a193617abacc417349ae204131");
}

TEST(Digest, HashOfEmptyInputIsThePublishedOne) {
  EXPECT_EQ(hex(digest_of(DigestId::kAdler32, {})), "01000000");
  EXPECT_EQ(hex(digest_of(DigestId::kCrc32, {})), "00000000");
  EXPECT_EQ(hex(digest_of(DigestId::kMd5, {})), "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(Digest, SizeIsCorrect) {
  for (const DigestId id : kAll) EXPECT_EQ(digest_of(id, {}).size, digest_size(id)) << to_string(id);
}

// Sums of bytes modulo 65521 (RFC 1950).
std::string slow_adler32(std::string_view text) {
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char byte : text) {
    low = (low + static_cast<unsigned char>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  Digest digest{.size = 4};
  for (std::size_t i = 0; i < 4; ++i) digest.bytes[i] = static_cast<std::byte>((high << 16 | low) >> 8 * i & 0xFF);
  return hex(digest);
}

TEST(Digest, AdlerOfEveryLengthAndPlaceIsTheDefinedSum) {
  std::string text(300'000, '\xFF');
  for (std::size_t i = 0; i < 2000; ++i) text[i] = static_cast<char>(i * i >> 3);
  for (std::size_t begin = 0; begin < 40; begin += 3) {
    for (const std::size_t size :
         {1u, 2u, 15u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 1000u, 5551u, 5553u, 299'900u}) {
      const auto part = std::string_view(text).substr(begin, size);
      EXPECT_EQ(hex(digest_of(DigestId::kAdler32, as_bytes(part))), slow_adler32(part)) << begin << ' ' << size;
    }
  }
}

TEST(Digest, TwoPiecesEqualTheWholeAtEverySplit) {
  std::string text(300, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 3);
  const Bytes bytes = as_bytes(text);
  for (const DigestId id : kAll) {
    const std::string whole = hex(digest_of(id, bytes));
    for (std::size_t split = 0; split <= bytes.size(); split += 37) {
      Digester digester(id);
      digester.append(bytes.first(split));
      digester.append(bytes.subspan(split));
      EXPECT_EQ(hex(digester.finish()), whole) << to_string(id) << " split at " << split;
    }
  }
}

}  // namespace
}  // namespace recordfs
