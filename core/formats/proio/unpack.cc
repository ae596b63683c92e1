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

bool is_checksummed(std::uint32_t compression, Bytes head) {
  constexpr std::uint32_t kLz4Magic = 0x184D2204;
  constexpr std::uint8_t kLz4Checksums = 0x14;  // of the content, or of each block
  if (compression != kCompressionLz4) return compression == kCompressionGzip;
  Cursor cursor(head);
  const bool is_frame = cursor.u32_le() == kLz4Magic;
  return (cursor.u8() & kLz4Checksums) != 0 && is_frame && cursor.ok();
}

}  // namespace recordfs::proio
