// LZ4 blocks without a frame. The input ends before an unreadable page.
#include <gtest/gtest.h>

#include "core/codec/lz4_block.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::pack_lz4_block;
using testing::text_of;

std::string unpacked_block(std::string_view packed, std::uint64_t size) {
  const Guarded stored(as_bytes(packed));
  auto out = decompress_lz4_block({}, stored.view(), size);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

TEST(Lz4Block, BlockOfAnySizeRoundTrips) {
  for (const std::size_t size : {0u, 1u, 12u, 13u, 65536u, 1000000u}) {
    EXPECT_TRUE(unpacked_block(pack_lz4_block(text_of(size)), size) == text_of(size)) << size;
    EXPECT_TRUE(unpacked_block(pack_lz4_block(std::string(size, 'x')), size) == std::string(size, 'x')) << size;
  }
}

TEST(Lz4Block, WrongSizeIsDamage) {
  for (const std::size_t size : {1u, 300u, 70000u}) {
    const std::string packed = pack_lz4_block(text_of(size));
    for (const std::size_t wrong : {std::size_t{0}, size - 1, size + 1, 2 * size + 1}) {
      EXPECT_EQ(unpacked_block(packed, wrong), "damage") << size << ' ' << wrong;
    }
  }
}

TEST(Lz4Block, TruncatedOrTrailingBytesAreDamage) {
  const std::string packed = pack_lz4_block(text_of(3000));
  for (std::size_t length = 0; length < packed.size(); ++length) {
    EXPECT_EQ(unpacked_block(packed.substr(0, length), 3000), "damage") << length;
  }
  for (const char byte : {'\0', 'x', '\xFF'}) EXPECT_EQ(unpacked_block(packed + byte, 3000), "damage");
}

TEST(Lz4Block, ImpossibleSizeIsDamageAndAllocatesNothing) {
  EXPECT_EQ(unpacked_block("0123456789", ~std::uint64_t{0}), "damage");
  EXPECT_EQ(unpacked_block("", 1000), "damage");
}

}  // namespace
}  // namespace recordfs
