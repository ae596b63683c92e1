// Compressed bytes followed by other data.
#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::packers;
using testing::text_of;

constexpr std::uint64_t kEnough = 1 << 20;

bool knows_its_end(CodecId codec) { return codec != CodecId::kNone && codec != CodecId::kSnappy; }

TEST(DecompressFront, StopsAtTheEndAndReturnsItsPosition) {
  for (const std::size_t size : {0u, 1u, 300u, 70000u}) {
    const std::string text = text_of(size);
    for (const auto& [codec, pack] : packers()) {
      if (!knows_its_end(codec)) continue;
      const std::string packed = pack(text);
      for (const std::string_view tail : {"", "x", "not compressed at all"}) {
        const Guarded stored(as_bytes(packed + std::string(tail)));
        auto front = decompress_front({}, codec, stored.view(), 0, kEnough);
        ASSERT_TRUE(front) << to_string(codec) << ' ' << front.error().detail;
        EXPECT_TRUE(as_text(front->content.view()) == text) << to_string(codec);
        EXPECT_EQ(front->used, packed.size()) << to_string(codec);
      }
    }
  }
}

TEST(DecompressFront, CodecWithoutAnEndMarkConsumesAllBytes) {
  auto plain = decompress_front({}, CodecId::kNone, as_bytes("text"), 0, kEnough);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->used, 4u);
  for (const auto& [codec, pack] : packers()) {
    if (knows_its_end(codec)) continue;
    const std::string packed = pack("text");
    auto front = decompress_front({}, codec, as_bytes(packed), 0, kEnough);
    ASSERT_TRUE(front);
    EXPECT_EQ(front->used, packed.size());
    EXPECT_FALSE(decompress_front({}, codec, as_bytes(packed + "x"), 0, kEnough));
  }
}

TEST(DecompressFront, TruncationIsDamageAndTheLimitIsKept) {
  const std::string text = text_of(1000);
  for (const auto& [codec, pack] : packers()) {
    const std::string packed = pack(text);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      auto front = decompress_front({}, codec, as_bytes(packed).first(size), 0, kEnough);
      ASSERT_FALSE(front) << to_string(codec) << ' ' << size;
      EXPECT_EQ(front.error().code, Code::kDamage);
    }
    EXPECT_EQ(decompress_front({}, codec, as_bytes(packed), 0, 999).error().code, Code::kLimit);
  }
}

TEST(DecompressFront, CodecWithoutItsLibraryIsUnsupported) {
  EXPECT_EQ(decompress_front({}, static_cast<CodecId>(200), as_bytes("x"), 0, kEnough).error().code,
            Code::kUnsupported);
}

TEST(DecompressFront, StreamReportsItsRemainingInput) {
  for (const auto& [codec, pack] : packers()) {
    if (!knows_its_end(codec)) continue;
    const std::string packed = pack(text_of(5000)) + "tail";
    auto stream = open_stream(codec, as_bytes(packed), Tail::kIgnored);
    ASSERT_TRUE(stream);
    EXPECT_EQ((*stream)->stored_left(), packed.size());
    Guarded out(5001);
    for (const std::size_t expected : {5000u, 0u}) {
      auto got = (*stream)->read({}, out.span());
      ASSERT_TRUE(got) << got.error().detail;
      EXPECT_EQ(*got, expected);
      EXPECT_EQ((*stream)->stored_left(), 4u) << to_string(codec);
    }
  }
}

}  // namespace
}  // namespace recordfs
