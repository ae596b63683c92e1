#include "core/codec/compress.h"

#include <gtest/gtest.h>

#include <array>

#include "core/codec/lz4_block.h"
#include "tests/unit/codec/packers.h"

namespace recordfs {
namespace {

using testing::text_of;

constexpr std::array kCompressed = {CodecId::kNone,    CodecId::kZstd, CodecId::kBrotli, CodecId::kSnappy,
                                    CodecId::kDeflate, CodecId::kZlib, CodecId::kGzip};

std::string decompressed(CodecId codec, std::string_view stored) {
  const auto out = decompress({}, codec, as_bytes(stored), 0, std::uint64_t{1} << 30);
  return out ? std::string(as_text(out->view())) : to_string(out.error());
}

std::string compressed(CodecId codec, CompressionLevel level, std::string_view text) {
  std::string out = "before ";
  const auto done = compress(codec, level, as_bytes(text), out);
  return done ? out.substr(7) : std::string(to_string(done.error().code));
}

TEST(Compress, EveryCodecIsReadBack) {
  for (const CodecId codec : kCompressed) {
    if (!can_compress(codec)) continue;
    for (const std::size_t size : {0u, 1u, 600u, 65536u, 1000000u}) {
      SCOPED_TRACE(std::string(to_string(codec)) + " " + std::to_string(size));
      const std::string text = text_of(size);
      EXPECT_TRUE(decompressed(codec, compressed(codec, {}, text)) == text);
      EXPECT_TRUE(decompressed(codec, compressed(codec, 1000, text.substr(0, 10000))) == text.substr(0, 10000));
      EXPECT_TRUE(decompressed(codec, compressed(codec, -5, text)) == text);
    }
  }
}

TEST(Compress, EveryCodecOfTheBuildIsSupported) {
  for (const CodecId codec : kCompressed) EXPECT_EQ(can_compress(codec), is_available(codec)) << to_string(codec);
}

TEST(Compress, OtherCodecsAreRefused) {
  for (const CodecId codec : {CodecId::kLzma, CodecId::kXz, CodecId::kBzip2, CodecId::kLz4Frame}) {
    EXPECT_FALSE(can_compress(codec));
    EXPECT_EQ(compressed(codec, {}, "text"), to_string(Code::kUnsupported));
  }
}

TEST(Compress, Lz4BlockIsReadBack) {
  if (!is_available(CodecId::kLz4Frame)) GTEST_SKIP();
  for (const std::size_t size : {0u, 1u, 100000u}) {
    const std::string text = text_of(size);
    std::string out = "before ";
    ASSERT_TRUE(compress_lz4_block(as_bytes(text), out));
    const auto back = decompress_lz4_block({}, as_bytes(out).subspan(7), size);
    ASSERT_TRUE(back);
    EXPECT_EQ(as_text(back->view()), text);
  }
}

TEST(Compress, HigherLevelsCompressBetter) {
  const std::string text = text_of(300000);
  for (const CodecId codec : {CodecId::kZstd, CodecId::kBrotli, CodecId::kGzip}) {
    if (!can_compress(codec)) continue;
    EXPECT_LT(compressed(codec, 9, text).size(), compressed(codec, 1, text).size()) << to_string(codec);
  }
}

TEST(Compress, PiecesAreOneStream) {
  const std::string text = text_of(700000);
  for (const CodecId codec : {CodecId::kNone, CodecId::kZstd, CodecId::kDeflate, CodecId::kZlib, CodecId::kGzip}) {
    if (!can_compress(codec)) continue;
    SCOPED_TRACE(std::string(to_string(codec)));
    auto stream = open_compressor(codec, 1);
    ASSERT_TRUE(stream);
    for (int round = 0; round < 2; ++round) {
      std::string out;
      std::size_t size = 1;
      for (std::size_t at = 0; at < text.size(); at += size, size = size * 3 % 200001 + 1) {
        ASSERT_TRUE((*stream)->append(as_bytes(std::string_view(text).substr(at, size)), out));
      }
      ASSERT_TRUE((*stream)->finish(out));
      EXPECT_TRUE(decompressed(codec, out) == text) << round;
    }
  }
  EXPECT_FALSE(open_compressor(CodecId::kBrotli));
}

}  // namespace
}  // namespace recordfs
