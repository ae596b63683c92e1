#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "tests/unit/codec/packers.h"
#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

using testing::Guarded;
using testing::pack_brotli;
using testing::pack_brotli_large_window;
using testing::text_of;

TEST(Brotli, LargeWindowIsRead) {
  const std::string text = text_of(300000);
  for (const std::uint32_t window_log : {25u, 30u}) {
    const std::string packed = pack_brotli_large_window(text, window_log);
    const Guarded stored(as_bytes(packed));
    auto out = decompress({}, CodecId::kBrotli, stored.view(), 0, 1 << 20);
    ASSERT_TRUE(out) << to_string(out.error());
    EXPECT_TRUE(as_text(out->view()) == text);
  }
}

TEST(Brotli, EmptyStreamIsOneByteNotZero) {
  auto empty = decompress({}, CodecId::kBrotli, as_bytes("\x06"), 0, 100);
  ASSERT_TRUE(empty) << to_string(empty.error());
  EXPECT_TRUE(empty->empty());
  auto none = decompress({}, CodecId::kBrotli, {}, 0, 100);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kDamage);
}

TEST(Brotli, SecondStreamAfterTheFirstIsDamage) {
  const std::string packed = pack_brotli("one") + pack_brotli("two");
  auto out = decompress({}, CodecId::kBrotli, as_bytes(packed), 0, 100);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::kDamage);
  EXPECT_NE(out.error().detail.find("after the end"), std::string::npos);
}

}  // namespace
}  // namespace recordfs
