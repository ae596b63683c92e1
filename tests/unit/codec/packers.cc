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
  };
  return all;
}

}  // namespace recordfs::testing
