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

// Reads streams whose content should have `size` bytes, in each of the three ways.
class Reader {
 public:
  explicit Reader(std::size_t size) : size_(size), out_(size), more_(size + 1) {}

  // Whether any way succeeds. The output has to stay within the limit.
  bool any_accepts(CodecId codec, Bytes stored) {
    bool accepted = decompress_into({}, codec, stored, out_.span()).has_value();
    const auto collected = decompress({}, codec, stored, size_, kLimit);
    EXPECT_LE(collected ? collected->size() : 0, kLimit);
    accepted |= collected.has_value();
    return stream_accepts(codec, stored) || accepted;
  }

  void expect_damage(CodecId codec, Bytes stored) {
    const auto filled = decompress_into({}, codec, stored, out_.span());
    ASSERT_FALSE(filled) << to_string(codec) << ' ' << stored.size();
    EXPECT_EQ(filled.error().code, Code::kDamage) << filled.error().detail;
    const auto collected = decompress({}, codec, stored, size_, kLimit);
    ASSERT_FALSE(collected) << to_string(codec) << ' ' << stored.size();
    EXPECT_EQ(collected.error().code, Code::kDamage) << collected.error().detail;
  }

  bool stream_accepts(CodecId codec, Bytes stored) {
    auto stream = open_stream(codec, stored);
    EXPECT_TRUE(stream);
    return stream && (*stream)->read({}, more_.span()).has_value();
  }

 private:
  std::size_t size_;
  Guarded out_;
  Guarded more_;
};

TEST(DamagedStream, TruncationAtAnyByteIsDamage) {
  for (const std::size_t size : {0u, 1u, 300u, 5000u}) {
    Reader reader(size);
    for (const auto& [codec, pack] : packers()) {
      const std::string packed = pack(text_of(size));
      for (std::size_t length = 0; length < packed.size(); ++length) {
        const Guarded stored(as_bytes(packed).first(length));
        reader.expect_damage(codec, stored.view());
        EXPECT_FALSE(reader.stream_accepts(codec, stored.view())) << to_string(codec) << ' ' << length;
      }
    }
  }
}

TEST(DamagedStream, TrailingBytesAreDamage) {
  for (const std::size_t size : {0u, 1u, 300u, 5000u}) {
    Reader reader(size);
    for (const auto& [codec, pack] : packers()) {
      for (const char byte : {'\0', 'x', '\xFF'}) {
        for (const std::size_t extra : {1u, 2u, 3u, 4u, 5u, 20u}) {
          const std::string packed = pack(text_of(size)) + std::string(extra, byte);
          const Guarded stored(as_bytes(packed));
          reader.expect_damage(codec, stored.view());
        }
      }
    }
  }
}

TEST(DamagedStream, FlippedBitIsAnErrorOrStaysWithinTheLimit) {
  for (const std::size_t size : {1u, 300u, 3000u}) {
    Reader reader(size);
    for (const auto& [codec, pack] : packers()) {
      const std::string packed = pack(text_of(size));
      Guarded stored(as_bytes(packed));
      for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
        const auto mask = static_cast<std::byte>(1u << bit % 8);
        stored.span()[bit / 8] ^= mask;
        reader.any_accepts(codec, stored.view());
        stored.span()[bit / 8] ^= mask;
      }
      EXPECT_TRUE(reader.any_accepts(codec, stored.view())) << "the undamaged stream";
    }
  }
}

TEST(DamagedStream, NoiseIsAnErrorOrStaysWithinTheLimit) {
  std::uint64_t state = 7;
  Reader reader(100);
  for (int round = 0; round < 2000; ++round) {
    Guarded stored(static_cast<std::size_t>(round % 97));
    for (std::byte& byte : stored.span()) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>(state >> 56);
    }
    for (const auto& packer : packers()) reader.any_accepts(packer.codec, stored.view());
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
