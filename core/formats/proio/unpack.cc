#include "core/formats/proio/unpack.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/codec/codec.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

constexpr std::uint64_t kUsualRatio = 4;

// Returns the codec of a compressed payload, or nullopt for an unknown compression.
std::optional<CodecId> codec_of(std::uint32_t compression, Bytes payload) {
  switch (compression) {
    // Some readers also accept zlib streams, so some writers may produce them.
    case kCompressionGzip: return begins_zlib(payload) ? CodecId::kZlib : CodecId::kGzip;
    case kCompressionLz4: return CodecId::kLz4Frame;
    case kCompressionLzma: return CodecId::kLzma;
    default: return std::nullopt;
  }
}

// Returns the dictionary size of an .lzma stream, which is allocated before any output.
std::uint32_t lzma_dictionary(Bytes payload) {
  Cursor cursor(payload);
  cursor.u8();
  return cursor.u32_le();
}

constexpr std::uint32_t kLz4Magic = 0x184D2204;
constexpr std::uint32_t kLz4Skippable = 0x184D2A50;
constexpr std::uint32_t kLz4SkippableMask = ~0xFu;

// Skips an LZ4 frame after its magic. Returns false if it has no checksum of its content, nor of its blocks.
bool skip_checksummed_lz4_frame(Cursor& cursor) {
  constexpr std::uint8_t kDictionary = 0x01, kContentChecksum = 0x04, kContentSize = 0x08, kBlockChecksums = 0x10;
  constexpr std::uint32_t kStoredAsIs = 0x80000000;
  const std::uint8_t flags = cursor.u8();
  const auto size_of = [flags](std::uint8_t flag, std::uint64_t size) { return (flags & flag) != 0 ? size : 0; };
  if ((flags & (kContentChecksum | kBlockChecksums)) == 0) return false;
  cursor.skip(2 + size_of(kContentSize, 8) + size_of(kDictionary, 4));  // 2: the block size, and the header's checksum
  for (std::uint32_t size = cursor.u32_le(); size != 0 && cursor.ok(); size = cursor.u32_le()) {
    cursor.skip((size & ~kStoredAsIs) + size_of(kBlockChecksums, 4));
  }
  cursor.skip(size_of(kContentChecksum, 4));
  return cursor.ok();
}

}  // namespace

Result<Buffer> unpack(const RequestContext& context, std::uint32_t compression, Bytes stored, const Limits& limits) {
  const std::optional<CodecId> codec = codec_of(compression, stored);
  if (!codec) return Error{.code = Code::kUnsupported, .detail = fmt::format("unknown compression {}", compression)};
  if (*codec == CodecId::kLzma && lzma_dictionary(stored) > limits.decoded_chunk) {
    return Error{.code = Code::kLimit,
                 .detail = fmt::format("an LZMA dictionary of {} bytes exceeds the limit", lzma_dictionary(stored))};
  }
  auto front = decompress_front(context, *codec, stored, stored.size() * kUsualRatio, limits.decoded_chunk);
  if (!front) return std::move(front).error();
  return std::move(front->content);
}

bool is_checksummed(std::uint32_t compression, Bytes stored) {
  if (compression != kCompressionLz4) return compression == kCompressionGzip;
  bool has_frame = false;
  for (Cursor cursor(stored); !cursor.at_end();) {
    const std::uint32_t magic = cursor.u32_le();
    if (!cursor.ok()) break;  // bytes after the last frame are ignored
    if ((magic & kLz4SkippableMask) == kLz4Skippable) {
      cursor.skip(cursor.u32_le());
    } else if (magic != kLz4Magic) {
      break;
    } else if (has_frame = skip_checksummed_lz4_frame(cursor); !has_frame) {
      return false;
    }
    if (!cursor.ok()) return false;
  }
  return has_frame;
}

}  // namespace recordfs::proio
