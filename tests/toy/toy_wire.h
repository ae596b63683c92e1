// Parses the structs of a toy file. See toy_format.h for the layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::toy {

inline constexpr std::string_view kFileMagic = "toyfile\n";
inline constexpr std::string_view kChunkMagic = "TOY\n";
inline constexpr std::uint64_t kFixedHeadSize = 20;  // up to the stride
inline constexpr std::uint64_t kSmallestHead = 32;   // no attributes, no trailer
inline constexpr std::uint64_t kLargestHead = 1 << 20;
inline constexpr std::uint64_t kChunkHeaderSize = 24;
inline constexpr std::uint32_t kUnreadable = 0x80000000u;

enum HeadFlag : std::uint32_t { kCounts = 1, kSmallLayout = 2, kByParts = 4, kTrailer = 8, kParts = 16, kMinimal = 32 };
enum ChunkFlag : std::uint32_t { kUnsupportedCodec = 1 };

// FNV-1a, continued from `previous`. Every change of one byte changes the result.
std::uint32_t check_of(Bytes bytes, std::uint32_t previous = 2166136261u);

struct FixedHead {
  std::uint32_t size = 0;
  std::uint32_t flags = 0;
  std::uint32_t stride = 0;
};

// Parses the first kFixedHeadSize bytes of a file; returns nullopt if it is not a toy file.
std::optional<FixedHead> parse_fixed_head(Bytes bytes);

struct ChunkHeader {
  std::uint32_t payload_size = 0;
  std::uint32_t records = 0;
  std::uint32_t flags = 0;
  std::uint32_t payload_check = 0;
};

// Parses the first kChunkHeaderSize bytes of a chunk; returns nullopt if they are too few or invalid.
std::optional<ChunkHeader> parse_chunk_header(Bytes bytes);

}  // namespace recordfs::toy
