// Streams that are truncated, changed or followed by other bytes. Input and output end before an unreadable page, so an
// access out of bounds crashes even inside a library.
#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::packers;
using testing::text_of;

constexpr std::uint64_t kLimit = 1 << 20;

// Whether any of the three ways to read `stored` succeeds.
bool any_accepts(CodecId codec, Bytes stored, std::size_t size) {
  Guarded out(size);
  bool accepted = decompress_into({}, codec, stored, out.span()).has_value();
  accepted |= decompress({}, codec, stored, size, kLimit).has_value();
  auto stream = open_stream(codec, stored);
  EXPECT_TRUE(stream);
  Guarded more(size + 1);
  return stream && (*stream)->read({}, more.span()).has_value() ? true : accepted;
}

void expect_damage(CodecId codec, Bytes stored, std::size_t size) {
  Guarded out(size);
  const auto filled = decompress_into({}, codec, stored, out.span());
  ASSERT_FALSE(filled) << to_string(codec) << ' ' << stored.size();
  EXPECT_EQ(filled.error().code, Code::kDamage) << filled.error().detail;
  const auto collected = decompress({}, codec, stored, size, kLimit);
  ASSERT_FALSE(collected) << to_string(codec) << ' ' << stored.size();
  EXPECT_EQ(collected.error().code, Code::kDamage) << collected.error().detail;
}

TEST(DamagedStream, TruncationAtAnyByteIsDamage) {
  for (const std::size_t size : {0u, 1u, 300u, 5000u}) {
    for (const auto& [codec, pack] : packers()) {
      const std::string packed = pack(text_of(size));
      for (std::size_t length = 0; length < packed.size(); ++length) {
        const Guarded stored(as_bytes(packed).first(length));
        expect_damage(codec, stored.view(), size);
        EXPECT_FALSE(any_accepts(codec, stored.view(), size)) << to_string(codec) << ' ' << length;
      }
    }
  }
}

TEST(DamagedStream, TrailingBytesAreDamage) {
  for (const std::size_t size : {0u, 1u, 300u, 5000u}) {
    for (const auto& [codec, pack] : packers()) {
      for (const char byte : {'\0', 'x', '\xFF'}) {
        for (const std::size_t extra : {1u, 2u, 3u, 4u, 5u, 20u}) {
          const std::string packed = pack(text_of(size)) + std::string(extra, byte);
          const Guarded stored(as_bytes(packed));
          expect_damage(codec, stored.view(), size);
        }
      }
    }
  }
}

TEST(DamagedStream, FlippedBitIsAnErrorOrStaysWithinTheLimit) {
  for (const std::size_t size : {1u, 300u, 3000u}) {
    for (const auto& [codec, pack] : packers()) {
      const std::string packed = pack(text_of(size));
      Guarded stored(as_bytes(packed));
      for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
        const auto mask = static_cast<std::byte>(1u << bit % 8);
        stored.span()[bit / 8] ^= mask;
        auto out = decompress({}, codec, stored.view(), size, kLimit);
        EXPECT_LE(out ? out->size() : 0, kLimit);
        any_accepts(codec, stored.view(), size);
        stored.span()[bit / 8] ^= mask;
      }
      EXPECT_TRUE(any_accepts(codec, stored.view(), size)) << "the undamaged stream";
    }
  }
}

TEST(DamagedStream, NoiseIsAnErrorOrStaysWithinTheLimit) {
  std::uint64_t state = 7;
  for (int round = 0; round < 2000; ++round) {
    Guarded stored(static_cast<std::size_t>(round % 97));
    for (std::byte& byte : stored.span()) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>(state >> 56);
    }
    for (const auto& packer : packers()) {
      auto out = decompress({}, packer.codec, stored.view(), 100, kLimit);
      EXPECT_LE(out ? out->size() : 0, kLimit);
      any_accepts(packer.codec, stored.view(), 100);
    }
  }
}

TEST(DamagedStream, DamagedStreamDoesNotAffectTheNextGoodOne) {
  const std::string text = text_of(5000);
  for (const auto& [codec, pack] : packers()) {
    const std::string packed = pack(text);
    EXPECT_FALSE(decompress({}, codec, as_bytes(packed).first(packed.size() / 2), 0, kLimit));
    auto out = decompress({}, codec, as_bytes(packed), 0, kLimit);
    ASSERT_TRUE(out);
    EXPECT_EQ(as_text(out->view()), text);
  }
}

}  // namespace
}  // namespace recordfs
