// Checks of a Blosc chunk that need no library: every number that a decoder would follow.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/codec/blosc.h"

namespace recordfs {
namespace {

constexpr std::uint8_t kFormatVersion = 2;
constexpr std::uint8_t kCodecVersion = 1;  // the same for every codec
constexpr std::uint8_t kReservedFlag = 0x08;
constexpr std::uint8_t kUnsplitFlag = 0x10;
constexpr std::uint32_t kMostStreams = 16;
constexpr std::uint32_t kSmallestStream = 128;
constexpr std::uint32_t kNumber = 4;
// The library computes 3 times this, plus a table of 255 elements, in 32 bits.
constexpr std::uint32_t kLargestBlock = (0x7FFFFFFF - 255 * 4) / 3;

enum Codec : std::uint8_t { kBloscLz, kLz4, kSnappy, kZlib, kZstd, kCodecs };

Codec codec_of(const BloscHeader& header) { return static_cast<Codec>(std::min<int>(header.flags >> 5, kCodecs)); }

Error damage(std::string why) { return {Code::kDamage, 0, std::move(why)}; }

// Returns an upper bound of the bytes that one stored byte can decompress to.
std::uint64_t largest_ratio(Codec codec) {
  switch (codec) {
    case kBloscLz:
    case kLz4: return 260;
    case kSnappy: return 22;
    case kZlib: return 1040;
    default: return 1 << 16;
  }
}

// Returns the most bytes that a stream of `out` decoded bytes occupies. Writers store incompressible data unchanged.
// Only Snappy may exceed the decoded size, because its compressor has no output limit.
std::uint64_t longest_stream(Codec codec, std::uint64_t out) { return codec == kSnappy ? 32 + out + out / 6 : out; }

}  // namespace

std::string_view BloscHeader::codec() const {
  if (is_plain()) return "none";
  constexpr std::array<std::string_view, 6> kNames = {"blosclz", "lz4", "snappy", "zlib", "zstd", "unknown"};
  return kNames[codec_of(*this)];
}

std::uint32_t BloscHeader::decoded_size(std::uint32_t block) const {
  return std::min(block_size, size - block * block_size);
}

std::uint32_t BloscHeader::streams(std::uint32_t block) const {
  const bool splits = (flags & kUnsplitFlag) == 0 && typesize <= kMostStreams &&
                      block_size / typesize >= kSmallestStream && decoded_size(block) == block_size;
  return splits ? typesize : 1;
}

Result<BloscHeader> parse_blosc_header(Bytes head) {
  Cursor cursor(head);
  BloscHeader header;
  const std::uint8_t version = cursor.u8();
  const std::uint8_t codec_version = cursor.u8();
  header.flags = cursor.u8();
  header.typesize = cursor.u8();
  header.size = cursor.u32_le();
  header.block_size = cursor.u32_le();
  header.stored_size = cursor.u32_le();
  if (!cursor.ok()) return Error{.code = Code::kUnfinished, .detail = "truncated Blosc header"};
  if (version != kFormatVersion || codec_version != kCodecVersion) {
    return damage(fmt::format("unsupported Blosc header version {}.{} (expected 2.1)", version, codec_version));
  }
  if (header.size > kBloscLargest)
    return damage(fmt::format("Blosc header declares {} bytes, more than the limit", header.size));
  // Writers store data that does not shrink unchanged.
  if (header.stored_size < kBloscHeaderSize ||
      (header.size > 0 && header.stored_size - kBloscHeaderSize > header.size)) {
    return damage(fmt::format("Blosc header declares {} bytes stored for {}", header.stored_size, header.size));
  }
  return header;
}

Result<void> check_blosc(const BloscHeader& header) {
  if ((header.flags & kReservedFlag) != 0) return damage("reserved flag set in a Blosc header");
  if (header.is_plain()) {
    if (header.stored_size - kBloscHeaderSize == header.size) return {};
    return damage(
        fmt::format("invalid sizes: {} stored for {} uncompressed", counted(header.stored_size, "byte"), header.size));
  }
  if (codec_of(header) == kCodecs) {
    return Error{.code = Code::kUnsupported, .detail = fmt::format("unknown Blosc codec {}", header.flags >> 5)};
  }
  if (header.typesize == 0) return damage("element size 0 in a Blosc header");
  if (header.block_size == 0 || header.block_size > std::min(header.size, kLargestBlock)) {
    return damage(
        fmt::format("Blosc header declares blocks of {} bytes in a chunk of {}", header.block_size, header.size));
  }
  const std::uint64_t tables = kBloscHeaderSize + std::uint64_t{header.blocks()} * (kNumber + kNumber);
  if (tables > header.stored_size)
    return damage(
        fmt::format("{} cannot hold {}", counted(header.stored_size, "byte"), counted(header.blocks(), "block")));
  if (header.streams(0) > 1 && header.block_size % header.typesize != 0) {
    return damage(fmt::format("blocks of {} bytes are not a multiple of the element size {}", header.block_size,
                              header.typesize));
  }
  return {};
}

Result<BloscExtent> find_blosc_block(const BloscHeader& header, std::uint32_t block, const BloscNumberAt& number_at) {
  const auto first_data = static_cast<std::uint32_t>(kBloscHeaderSize) + header.blocks() * kNumber;
  ASSIGN_OR_RETURN(const auto begin, number_at(static_cast<std::uint32_t>(kBloscHeaderSize) + block * kNumber));
  if (begin < first_data || begin > header.stored_size)
    return damage(fmt::format("block {} begins at invalid byte {}", block, begin));
  const Codec codec = codec_of(header);
  const std::uint32_t streams = header.streams(block);
  const std::uint32_t decoded = header.decoded_size(block) / streams;
  std::uint32_t end = begin;
  for (std::uint32_t i = 0; i < streams; ++i) {
    if (header.stored_size - end < kNumber)
      return damage(fmt::format("block {} extends past the end of its chunk", block));
    ASSIGN_OR_RETURN(const auto stored, number_at(end));
    end += kNumber;
    if (stored > header.stored_size - end)
      return damage(fmt::format("block {} extends past the end of its chunk", block));
    if (stored > longest_stream(codec, decoded) || decoded > stored * largest_ratio(codec)) {
      return damage(
          fmt::format("invalid sizes: {} bytes of {} for {} in block {}", stored, header.codec(), decoded, block));
    }
    end += stored;
  }
  return BloscExtent{begin, end};
}

Result<BloscExtent> find_blosc_block(const BloscHeader& header, std::uint32_t block, Bytes chunk) {
  return find_blosc_block(header, block, [&](std::uint32_t offset) -> Result<std::uint32_t> {
    return Cursor(chunk.subspan(offset)).u32_le();
  });
}

#ifndef RECORDFS_HAVE_BLOSC
bool has_blosc() { return false; }

Result<void> decompress_blosc_block(const RequestContext&, const BloscHeader&, std::uint32_t, Bytes, MutableBytes) {
  return Error{.code = Code::kUnsupported, .detail = "Blosc is not part of this build"};
}

Result<void> decompress_blosc_chunk(const RequestContext&, Bytes, MutableBytes) {
  return Error{.code = Code::kUnsupported, .detail = "Blosc is not part of this build"};
}
#endif

}  // namespace recordfs
