// Compression as the formats use it, for the writers and for the yardsticks that undo it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recordfs::bench {

enum class Packing : std::uint8_t { kNone, kZstd, kBrotli, kDeflate, kGzip, kLz4, kSnappy, kBlosc };

// Returns `content` as one zstd frame (level 3), Brotli stream (quality 6), raw deflate stream or gzip member (level
// 6), LZ4 frame of independent blocks with a checksum, or raw Snappy; kNone returns it unchanged. Ends the program if
// the library fails. REQUIRES: not kBlosc. Thread-safe.
std::string packed(Packing packing, std::string_view content);

// Returns `content` as one Blosc chunk of unshuffled bytes, compressed by "lz4" or "zstd". Not thread-safe.
std::string packed_by_blosc(const char* codec, std::string_view content);

}  // namespace recordfs::bench
