#include "tests/unit/codec/packers.h"

#include <gtest/gtest.h>

#ifdef RECORDFS_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef RECORDFS_HAVE_BROTLI
#include <brotli/encode.h>
#endif
#ifdef RECORDFS_HAVE_SNAPPY
#include <snappy.h>
#endif
#ifdef RECORDFS_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef RECORDFS_HAVE_LZ4
#include <lz4.h>
#include <lz4frame.h>
#endif
#ifdef RECORDFS_HAVE_LZMA
#include <lzma.h>
#endif
#ifdef RECORDFS_HAVE_BZIP2
#include <bzlib.h>
#endif

namespace recordfs::testing {

std::string text_of(std::size_t size) {
  std::string text;
  text.reserve(size + 20);
  for (std::uint32_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2654435761u >> 12) + " bottles, ";
  text.resize(size);
  return text;
}

#ifdef RECORDFS_HAVE_ZSTD
std::string pack_zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3);
  EXPECT_FALSE(ZSTD_isError(size));
  packed.resize(size);
  return packed;
}
#endif

#ifdef RECORDFS_HAVE_BROTLI
namespace {

std::string pack_brotli_with(std::string_view text, std::uint32_t window_log, bool large_window) {
  BrotliEncoderState* state = BrotliEncoderCreateInstance(nullptr, nullptr, nullptr);
  BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, 3);
  BrotliEncoderSetParameter(state, BROTLI_PARAM_LARGE_WINDOW, large_window ? 1 : 0);
  BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, window_log);
  std::string packed(text.size() + 1024, '\0');
  std::size_t left = text.size();
  std::size_t room = packed.size();
  const auto* next = reinterpret_cast<const std::uint8_t*>(text.data());
  auto* target = reinterpret_cast<std::uint8_t*>(packed.data());
  EXPECT_TRUE(BrotliEncoderCompressStream(state, BROTLI_OPERATION_FINISH, &left, &next, &room, &target, nullptr));
  EXPECT_TRUE(BrotliEncoderIsFinished(state));
  BrotliEncoderDestroyInstance(state);
  packed.resize(packed.size() - room);
  return packed;
}

}  // namespace

std::string pack_brotli(std::string_view text) { return pack_brotli_with(text, 22, false); }
std::string pack_brotli_large_window(std::string_view text, std::uint32_t window_log) {
  return pack_brotli_with(text, window_log, true);
}
#endif

#ifdef RECORDFS_HAVE_SNAPPY
std::string pack_snappy(std::string_view text) {
  std::string packed;
  snappy::Compress(text.data(), text.size(), &packed);
  return packed;
}
#endif

#ifdef RECORDFS_HAVE_ZLIB
namespace {

std::string pack_with_wrapper(std::string_view text, int wrapper) {
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, 6, Z_DEFLATED, wrapper, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&state, text.size()), '\0');
  state.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - state.avail_out);
  deflateEnd(&state);
  return packed;
}

}  // namespace

std::string pack_deflate(std::string_view text) { return pack_with_wrapper(text, -15); }
std::string pack_zlib(std::string_view text) { return pack_with_wrapper(text, 15); }
std::string pack_gzip(std::string_view text) { return pack_with_wrapper(text, 15 + 16); }
#endif

#ifdef RECORDFS_HAVE_LZ4
std::string pack_lz4_with(std::string_view text, const Lz4Options& options) {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.blockSizeID = static_cast<LZ4F_blockSizeID_t>(options.block_size);
  preferences.frameInfo.blockMode = options.linked ? LZ4F_blockLinked : LZ4F_blockIndependent;
  preferences.frameInfo.contentChecksumFlag = options.checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  preferences.frameInfo.contentSize = options.states_size ? text.size() : 0;
  std::string packed(LZ4F_compressFrameBound(text.size(), &preferences), '\0');
  const std::size_t size = LZ4F_compressFrame(packed.data(), packed.size(), text.data(), text.size(), &preferences);
  EXPECT_FALSE(LZ4F_isError(size));
  packed.resize(size);
  return packed;
}

std::string pack_lz4(std::string_view text) {
  return pack_lz4_with(text, {.linked = true, .checksum = true, .states_size = true});
}

std::string pack_lz4_block(std::string_view text) {
  const int size = static_cast<int>(text.size());
  std::string packed(static_cast<std::size_t>(LZ4_compressBound(size)), '\0');
  const int written = LZ4_compress_default(text.data(), packed.data(), size, static_cast<int>(packed.size()));
  EXPECT_GT(written, 0);
  packed.resize(static_cast<std::size_t>(written));
  return packed;
}
#endif

#ifdef RECORDFS_HAVE_LZMA
std::string pack_lzma(std::string_view text) {
  lzma_options_lzma options{};
  EXPECT_FALSE(lzma_lzma_preset(&options, 1));
  lzma_stream state = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_alone_encoder(&state, &options), LZMA_OK);
  std::string packed(text.size() + text.size() / 8 + 1024, '\0');
  state.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
  state.avail_in = text.size();
  state.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
  state.avail_out = packed.size();
  EXPECT_EQ(lzma_code(&state, LZMA_FINISH), LZMA_STREAM_END);
  packed.resize(packed.size() - state.avail_out);
  lzma_end(&state);
  return packed;
}

std::string pack_xz(std::string_view text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                    text.size(), reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}
#endif

#ifdef RECORDFS_HAVE_BZIP2
std::string pack_bzip2(std::string_view text) {
  std::string packed(text.size() + text.size() / 50 + 1024, '\0');
  auto size = static_cast<unsigned>(packed.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(text.data()),
                                     static_cast<unsigned>(text.size()), 1, 0, 0),
            BZ_OK);
  packed.resize(size);
  return packed;
}
#endif

const std::vector<Packer>& packers() {
  static const std::vector<Packer> all = {
#ifdef RECORDFS_HAVE_ZSTD
      {CodecId::kZstd, pack_zstd},
#endif
#ifdef RECORDFS_HAVE_BROTLI
      {CodecId::kBrotli, pack_brotli},
#endif
#ifdef RECORDFS_HAVE_SNAPPY
      {CodecId::kSnappy, pack_snappy},
#endif
#ifdef RECORDFS_HAVE_ZLIB
      {CodecId::kDeflate, pack_deflate}, {CodecId::kZlib, pack_zlib}, {CodecId::kGzip, pack_gzip},
#endif
#ifdef RECORDFS_HAVE_LZ4
      {CodecId::kLz4Frame, pack_lz4},
#endif
#ifdef RECORDFS_HAVE_LZMA
      {CodecId::kLzma, pack_lzma},       {CodecId::kXz, pack_xz},
#endif
#ifdef RECORDFS_HAVE_BZIP2
      {CodecId::kBzip2, pack_bzip2},
#endif
  };
  return all;
}

}  // namespace recordfs::testing
