// The interface between compress.cc and the source file of one library. Internal to this folder.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "core/codec/compress.h"

namespace recordfs {

// Returns the room in the output for one call of a library with `content` bytes. Small pieces mostly give no output.
constexpr std::size_t compressed_piece(std::size_t content) {
  return std::clamp<std::size_t>(content, 512, std::size_t{64} << 10);
}

// The functions of compress.h with the same names, for one library.
Result<void> compress_zstd(int level, Bytes content, std::string& out);
Result<void> compress_brotli(int level, Bytes content, std::string& out);
Result<void> compress_snappy(Bytes content, std::string& out);
Result<void> append_lz4_block(Bytes content, std::string& out);
Result<std::unique_ptr<CompressStream>> open_zstd_compressor(int level);
// For kDeflate, kZlib and kGzip.
Result<std::unique_ptr<CompressStream>> open_deflate_compressor(CodecId codec, int level);

}  // namespace recordfs
