#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"

namespace recordfs {
namespace {

using testing::pack_snappy;

std::string word_for(std::string_view packed, std::uint64_t limit) {
  auto out = decompress({}, CodecId::kSnappy, as_bytes(packed), 0, limit);
  return std::string(out ? "good" : to_string(out.error().code));
}

TEST(Snappy, LengthBeyondTheLimitIsRefusedBeforeDecoding) {
  const std::string packed = pack_snappy(std::string(1 << 20, '\0'));
  EXPECT_EQ(word_for(packed, (1 << 20) - 1), "limit");
  EXPECT_EQ(word_for(packed, 1 << 20), "good");
}

TEST(Snappy, ImpossibleLengthIsDamageAndAllocatesNothing) {
  EXPECT_EQ(word_for(std::string("\xFF\xFF\xFF\xFF\x0F\x00x", 7), ~std::uint64_t{0}), "damage");
}

TEST(Snappy, LengthOfMoreThanThirtyTwoBitsIsDamage) {
  EXPECT_EQ(word_for("\xFF\xFF\xFF\xFF\x1F", ~std::uint64_t{0}), "damage");
  EXPECT_EQ(word_for("\xFF\xFF\xFF\xFF\xFF\xFF", ~std::uint64_t{0}), "damage");
}

TEST(Snappy, OffsetBeforeTheBeginningIsDamage) { EXPECT_EQ(word_for(std::string("\x04\x01\x01", 3), 100), "damage"); }

TEST(Snappy, EmptyInputIsDamageButAZeroLengthIsNot) {
  EXPECT_EQ(word_for("", 100), "damage");
  EXPECT_EQ(word_for(std::string(1, '\0'), 100), "good");
}

}  // namespace
}  // namespace recordfs
