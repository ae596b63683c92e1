#include "core/codec/blosc.h"

#include <gtest/gtest.h>

#include <blosc.h>

#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/cursor.h"

namespace recordfs {
namespace {

std::string text_of_size(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i / 7 % 50 + i % 3);
  return text;
}

struct Writing {
  const char* codec = "blosclz";
  int shuffle = BLOSC_SHUFFLE;
  std::size_t typesize = 4;
  std::size_t block_size = 0;  // 0: the library's choice
  int level = 5;
};

std::string compressed(const std::string& text, const Writing& how) {
  std::string chunk(text.size() + BLOSC_MAX_OVERHEAD, '\0');
  const int size = blosc_compress_ctx(how.level, how.shuffle, how.typesize, text.size(), text.data(), chunk.data(),
                                      chunk.size(), how.codec, how.block_size, 1);
  EXPECT_GT(size, 0) << how.codec;
  chunk.resize(static_cast<std::size_t>(std::max(size, 0)));
  return chunk;
}

BloscNumberAt numbers_of(Bytes chunk) {
  return [chunk](std::uint32_t offset) -> Result<std::uint32_t> { return Cursor(chunk.subspan(offset)).u32_le(); };
}

Result<std::string> decoded_by_block(const std::string& chunk) {
  const Bytes bytes = as_bytes(chunk);
  ASSIGN_OR_RETURN(const auto header, parse_blosc_header(bytes));
  TRY(check_blosc(header));
  if (header.is_plain()) return chunk.substr(kBloscHeaderSize, header.size);
  std::string out(header.size, '?');
  for (std::uint32_t block = 0; block < header.blocks(); ++block) {
    ASSIGN_OR_RETURN(const auto extent, find_blosc_block(header, block, numbers_of(bytes)));
    const auto target = std::as_writable_bytes(std::span(out))
                            .subspan(std::size_t{block} * header.block_size, header.decoded_size(block));
    const Bytes stored = bytes.subspan(extent.begin, extent.end - extent.begin);
    TRY(decompress_blosc_block({}, header, block, stored, target));
  }
  return out;
}

// Decodes block by block. A chunk decoded at once has the same bytes, or is refused as well.
Result<std::string> decoded(const std::string& chunk) {
  auto by_block = decoded_by_block(chunk);
  const auto header = parse_blosc_header(as_bytes(chunk));
  if (!header || header->stored_size > chunk.size() || header->size > 64u << 20) return by_block;
  std::string out(header->size, '?');
  const auto whole =
      decompress_blosc_chunk({}, as_bytes(chunk).first(header->stored_size), std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(whole.has_value(), by_block.has_value());
  if (whole && by_block) {
    EXPECT_EQ(out, *by_block);
  }
  return by_block;
}

void put(std::string& chunk, std::size_t at, std::uint32_t number) {
  for (std::size_t i = 0; i < 4; ++i) chunk[at + i] = static_cast<char>(number >> 8 * i & 0xFF);
}

std::uint32_t get(const std::string& chunk, std::size_t at) { return Cursor(as_bytes(chunk).subspan(at)).u32_le(); }

TEST(Blosc, EveryCodecFilterAndBlockSizeRoundTrips) {
  for (const char* codec : {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}) {
    for (const int shuffle : {BLOSC_NOSHUFFLE, BLOSC_SHUFFLE, BLOSC_BITSHUFFLE}) {
      for (const std::size_t typesize : {1u, 2u, 3u, 8u, 16u, 17u, 255u}) {
        for (const std::size_t block_size : {0u, 128u, 4096u, 5000u}) {
          const std::string text = text_of_size(20011);
          const auto out = decoded(compressed(text, {codec, shuffle, typesize, block_size}));
          ASSERT_TRUE(out) << codec << ' ' << shuffle << ' ' << typesize << ' ' << block_size << ": "
                           << to_string(out.error());
          EXPECT_EQ(*out, text) << codec << ' ' << shuffle << ' ' << typesize << ' ' << block_size;
        }
      }
    }
  }
}

TEST(Blosc, UncompressedChunkIsPlain) {
  for (const std::size_t size : {0u, 1u, 100u, 5000u}) {
    const std::string chunk = compressed(text_of_size(size), {.level = 0});
    EXPECT_TRUE(parse_blosc_header(as_bytes(chunk))->is_plain());
    EXPECT_EQ(*decoded(chunk), text_of_size(size));
  }
}

TEST(Blosc, InconsistentHeaderIsRefused) {
  const std::string good = compressed(text_of_size(20000), {});
  const auto refused = [&](std::size_t at, std::uint32_t number) {
    std::string chunk = good;
    put(chunk, at, number);
    return !decoded(chunk).has_value();
  };
  for (const std::uint32_t size : {0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) EXPECT_TRUE(refused(4, size)) << size;
  for (const std::uint32_t size : {0u, 1u, 20001u, 0x7FFFFFFFu, 0xFFFFFFFFu}) EXPECT_TRUE(refused(8, size)) << size;
  for (const std::uint32_t size : {0u, 15u, 20017u, 0xFFFFFFFFu}) EXPECT_TRUE(refused(12, size)) << size;
  for (const std::uint32_t begin : {0u, 16u, 0x7FFFFFFFu, 0xFFFFFFFFu}) EXPECT_TRUE(refused(16, begin)) << begin;
}

TEST(Blosc, UnknownVersionsAndFlagsAreRefused) {
  const std::string good = compressed(text_of_size(20000), {});
  for (std::size_t at : {0u, 1u}) {
    std::string chunk = good;
    chunk[at] = 5;
    EXPECT_EQ(decoded(chunk).error().code, Code::kDamage);
  }
  std::string chunk = good;
  chunk[2] = static_cast<char>(chunk[2] | 0x08);
  EXPECT_EQ(decoded(chunk).error().code, Code::kDamage);
  chunk[2] = static_cast<char>(0xA0);
  EXPECT_EQ(decoded(chunk).error().code, Code::kUnsupported);
}

TEST(Blosc, StreamBeyondItsChunkIsRefused) {
  const std::string good = compressed(text_of_size(20000), {.typesize = 1});
  const std::uint32_t begin = get(good, 16);
  for (const std::uint32_t size : {0u, 0x7FFFFFFFu, 0xFFFFFFFFu, static_cast<std::uint32_t>(good.size())}) {
    std::string chunk = good;
    put(chunk, begin, size);
    EXPECT_FALSE(decoded(chunk)) << size;
  }
}

// The library would leave the rest of the block uninitialized.
TEST(Blosc, StreamShorterThanItsBlockIsRefused) {
  std::string chunk = compressed(text_of_size(20000), {.shuffle = 0, .typesize = 1});
  chunk[chunk.size() - 1] = static_cast<char>(chunk[chunk.size() - 1] ^ 0x55);
  put(chunk, 4, get(chunk, 4) + 63);
  put(chunk, 8, get(chunk, 8) + 63);
  EXPECT_FALSE(decoded(chunk));
}

// The library sums up a match length in 32 bits. This many bytes of 255 make it negative, and the library would write
// out of bounds.
TEST(Blosc, MatchLengthThatOverflowsIsRefused) {
  constexpr std::uint32_t kRun = 8500000;
  constexpr std::uint32_t kSize = 16 << 20;
  std::string stream = {0x00, 'A', static_cast<char>(0xE0)};
  stream.append(kRun, static_cast<char>(0xFF));
  // The library discards a match that nothing follows before copying it.
  stream.append({0, 0, 0, 'B'});
  std::string chunk(20, '\0');
  chunk[0] = 2;
  chunk[1] = 1;
  chunk[2] = 0x10;
  chunk[3] = 1;
  put(chunk, 4, kSize);
  put(chunk, 8, kSize);
  put(chunk, 16, 20);
  std::string length(4, '\0');
  put(length, 0, static_cast<std::uint32_t>(stream.size()));
  chunk += length + stream;
  put(chunk, 12, static_cast<std::uint32_t>(chunk.size()));
  const auto out = decoded(chunk);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::kDamage);
}

TEST(Blosc, WholeChunkOfAnotherSizeIsRefused) {
  const std::string text = text_of_size(20000);
  const std::string chunk = compressed(text, {});
  std::string out(text.size() + 1, '?');
  const auto room = std::as_writable_bytes(std::span(out));
  EXPECT_TRUE(decompress_blosc_chunk({}, as_bytes(chunk), room.first(text.size())));
  for (const std::size_t size : {std::size_t{0}, text.size() - 1, text.size() + 1}) {
    EXPECT_FALSE(decompress_blosc_chunk({}, as_bytes(chunk), room.first(size))) << size;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{16}, chunk.size() - 1}) {
    EXPECT_FALSE(decompress_blosc_chunk({}, as_bytes(chunk).first(size), room.first(text.size()))) << size;
  }
  EXPECT_FALSE(decompress_blosc_chunk({}, as_bytes(chunk + "x"), room.first(text.size())));
}

}  // namespace
}  // namespace recordfs
