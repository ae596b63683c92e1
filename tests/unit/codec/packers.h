// Compressors of the libraries, for tests that need input for the codecs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/codec/codec.h"

namespace recordfs::testing {

struct Packer {
  CodecId codec;
  std::string (*pack)(std::string_view text);
};

// Returns a packer for each codec of this build except CodecId::kNone.
const std::vector<Packer>& packers();

// Returns `size` characters that are somewhat compressible.
std::string text_of(std::size_t size);

#ifdef RECORDFS_HAVE_ZSTD
std::string pack_zstd(std::string_view text);
#endif
#ifdef RECORDFS_HAVE_BROTLI
std::string pack_brotli(std::string_view text);
// Uses the format's large-window variant, with a `window_log` of up to 30.
std::string pack_brotli_large_window(std::string_view text, std::uint32_t window_log);
#endif
#ifdef RECORDFS_HAVE_SNAPPY
std::string pack_snappy(std::string_view text);
#endif
#ifdef RECORDFS_HAVE_ZLIB
std::string pack_deflate(std::string_view text);
std::string pack_zlib(std::string_view text);
std::string pack_gzip(std::string_view text);
#endif
#ifdef RECORDFS_HAVE_LZ4
struct Lz4Options {
  bool linked = true;
  bool checksum = false;
  bool states_size = false;
  int block_size = 4;  // the frame format's code for the maximum block size: 4 is 64 KiB, 7 is 4 MiB
};
std::string pack_lz4_with(std::string_view text, const Lz4Options& options);
// Uses linked blocks of 64 KiB, a stated size and a checksum.
std::string pack_lz4(std::string_view text);
// Returns a block without a frame.
std::string pack_lz4_block(std::string_view text);
#endif
#ifdef RECORDFS_HAVE_LZMA
// Of unknown size, with an end marker.
std::string pack_lzma(std::string_view text);
// With a CRC-64.
std::string pack_xz(std::string_view text);
#endif
#ifdef RECORDFS_HAVE_BZIP2
std::string pack_bzip2(std::string_view text);
#endif

}  // namespace recordfs::testing
