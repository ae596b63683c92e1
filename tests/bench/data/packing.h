// Compression as the formats use it, for writers of data and for the yardsticks that undo it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recordfs::bench {

enum class Packing : std::uint8_t { kNone, kZstd, kBrotli, kDeflate, kGzip, kLz4, kBlosc };

// `content` as one zstd frame (level 3), Brotli stream (quality 6), raw deflate stream or gzip member (level 6), or LZ4
// frame of independent pieces with a checksum; kNone gives it as it is. Ends the program where the library fails.
// REQUIRES: not kBlosc. Any thread.
std::string packed(Packing packing, std::string_view content);

// `content` as one Blosc chunk of bytes that are not shuffled, compressed by "lz4" or "zstd". One thread at a time.
std::string packed_by_blosc(const char* codec, std::string_view content);

}  // namespace recordfs::bench
