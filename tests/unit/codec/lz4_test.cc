#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::Lz4Options;
using testing::pack_lz4;
using testing::pack_lz4_with;
using testing::text_of;

std::string unpacked_frames(std::string_view packed, std::uint64_t limit = 1 << 20) {
  const Guarded stored(as_bytes(packed));
  auto out = decompress({}, CodecId::kLz4Frame, stored.view(), 0, limit);
  return out ? std::string(as_text(out->view())) : std::string(to_string(out.error().code));
}

std::string skippable_frame(std::string_view content) {
  return "\x5A\x2A\x4D\x18" + std::string(1, static_cast<char>(content.size())) + std::string(3, '\0') +
         std::string(content);
}

TEST(Lz4, BlocksOfEachKindAreDecoded) {
  const std::string text = text_of(300000);
  for (const bool linked : {false, true}) {
    for (const bool checksum : {false, true}) {
      for (const bool states_size : {false, true}) {
        const std::string packed = pack_lz4_with(text, {linked, checksum, states_size});
        EXPECT_TRUE(unpacked_frames(packed) == text) << linked << checksum << states_size;
      }
    }
  }
}

TEST(Lz4, LargestBlocksAreDecodedWithAnySizeGuess) {
  for (const std::size_t size : {1u, 100000u, 5000000u}) {
    const std::string text = text_of(size);
    for (int block_size = 4; block_size <= 7; ++block_size) {
      for (const bool linked : {false, true}) {
        const std::string packed = pack_lz4_with(text, {.linked = linked, .checksum = true, .block_size = block_size});
        for (const std::uint64_t guess : {std::uint64_t{1}, std::uint64_t{size}, 4 * packed.size(), UINT64_MAX}) {
          auto whole = decompress({}, CodecId::kLz4Frame, as_bytes(packed), guess, size);
          ASSERT_TRUE(whole) << whole.error().detail;
          EXPECT_TRUE(as_text(whole->view()) == text) << size << ' ' << block_size << ' ' << guess;
          EXPECT_EQ(decompress({}, CodecId::kLz4Frame, as_bytes(packed), guess, size - 1).error().code, Code::kLimit);
          auto front = decompress_front({}, CodecId::kLz4Frame, as_bytes(packed + "tail"), guess, size);
          ASSERT_TRUE(front) << front.error().detail;
          EXPECT_TRUE(as_text(front->content.view()) == text);
          EXPECT_EQ(front->used, packed.size());
        }
      }
    }
  }
}

// Contexts of the library are used again.
TEST(Lz4, BrokenFrameDoesNotAffectTheNextStream) {
  const std::string text = text_of(100'000);
  const std::string sound = pack_lz4_with(text, {.states_size = false});
  std::string broken = pack_lz4_with(text, {.states_size = true});
  for (const std::size_t size : {std::size_t{6}, std::size_t{9}, broken.size() / 2, broken.size() - 1}) {
    const std::string cut = broken.substr(0, size);
    EXPECT_FALSE(decompress({}, CodecId::kLz4Frame, as_bytes(cut), 0, text.size())) << size;
    const auto whole = decompress({}, CodecId::kLz4Frame, as_bytes(sound), 0, text.size());
    ASSERT_TRUE(whole) << size;
    EXPECT_TRUE(as_text(whole->view()) == text) << size;
  }
}

TEST(Lz4, ConsecutiveFramesAreConcatenated) {
  const Lz4Options independent{false, false, false};
  EXPECT_EQ(unpacked_frames(pack_lz4("one ") + pack_lz4_with("", independent) + pack_lz4_with("two", independent)),
            "one two");
}

TEST(Lz4, SkippableFramesYieldNoBytes) {
  EXPECT_EQ(unpacked_frames(skippable_frame("abc") + pack_lz4("one ") + skippable_frame("") + pack_lz4("two") +
                            skippable_frame("x")),
            "one two");
  EXPECT_EQ(unpacked_frames(skippable_frame("abc")), "");
}

TEST(Lz4, TruncatedSkippableFrameIsDamage) {
  for (const std::string& before : {std::string(), pack_lz4("text")}) {
    const std::string packed = before + skippable_frame("abc");
    for (std::size_t cut = 1; cut < 11; ++cut) {
      EXPECT_EQ(unpacked_frames(packed.substr(0, packed.size() - cut)), "damage") << before.size() << ' ' << cut;
    }
  }
}

TEST(Lz4, InputWithoutAFrameIsDamage) {
  EXPECT_EQ(unpacked_frames(""), "damage");
  EXPECT_EQ(unpacked_frames("no frame, but long enough for one"), "damage");
  EXPECT_EQ(unpacked_frames(std::string("\x02\x21\x4C\x18\x05\0\0\0\x40text", 13)), "damage") << "a legacy frame";
}

TEST(Lz4, WrongContentChecksumIsDamage) {
  std::string packed = pack_lz4_with(text_of(1000), {true, true, false});
  packed.back() ^= 1;
  EXPECT_EQ(unpacked_frames(packed), "damage");
}

// Returns a frame with a handmade header: magic, flags, 64 KiB blocks, `rest`, and 4 uncompressed bytes of content.
std::string raw_frame(char flags, std::string_view rest, char header_checksum) {
  return "\x04\x22\x4D\x18" + std::string(1, flags) + '\x40' + std::string(rest) + header_checksum +
         std::string("\x04\0\0\x80text\0\0\0\0", 12);
}

TEST(Lz4, SizeOtherThanStatedIsDamage) {
  EXPECT_EQ(unpacked_frames(raw_frame('\x68', std::string("\x04\0\0\0\0\0\0\0", 8), '\xCD')), "text");
  EXPECT_EQ(unpacked_frames(raw_frame('\x68', std::string("\x05\0\0\0\0\0\0\0", 8), '\x61')), "damage");
  EXPECT_EQ(unpacked_frames(raw_frame('\x68', std::string("\x03\0\0\0\0\0\0\0", 8), '\x87')), "damage");
  EXPECT_EQ(unpacked_frames(raw_frame('\x68', std::string("\0\0\0\0\0\0\0\0", 8), '\x05')), "damage");
}

TEST(Lz4, AbsurdStatedSizeAllocatesNothing) {
  EXPECT_EQ(unpacked_frames(raw_frame('\x68', std::string("\0\0\0\0\0\0\0\x40", 8), '\x0A'), ~std::uint64_t{0}),
            "damage");
}

TEST(Lz4, FrameForADictionaryIsUnsupported) {
  EXPECT_EQ(unpacked_frames(raw_frame('\x61', std::string("\x07\0\0\0", 4), '\xE3')), "unsupported");
}

}  // namespace
}  // namespace recordfs
