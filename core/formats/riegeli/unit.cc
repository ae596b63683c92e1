#include "core/formats/riegeli/unit.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/base/protobuf.h"

namespace recordfs::riegeli {
namespace {

Error damage(std::string detail) { return {.code = Code::kDamage, .detail = std::move(detail)}; }

struct CompressionType {
  char byte;
  CodecId codec;
};
constexpr std::array kCompressionTypes{CompressionType{'\0', CodecId::kNone}, CompressionType{'b', CodecId::kBrotli},
                                       CompressionType{'z', CodecId::kZstd}, CompressionType{'s', CodecId::kSnappy}};

// A compressed unit: its uncompressed size and one stream.
struct Compressed {
  std::uint64_t declared = 0;
  Bytes stream;
};

Result<Compressed> split_compressed(CodecId codec, Bytes stored) {
  Cursor cursor(stored);
  const std::uint64_t declared = cursor.varint64();
  if (!cursor.ok()) return damage("a compressed part has no size before it");
  const Bytes stream = cursor.rest();
  if (codec == CodecId::kZstd && zstd_frame_size(stream).value_or(stream.size()) != stream.size()) {
    return damage("bytes after the zstd frame of a compressed part");
  }
  return Compressed{declared, stream};
}

// The largest declared size that is allocated at once. Larger content grows with the output.
constexpr std::uint64_t believable_size(std::uint64_t stored) { return stored * 64 + (64 << 10); }

}  // namespace

std::optional<CodecId> codec_of(std::uint8_t compression_type) {
  const auto found = std::ranges::find(kCompressionTypes, static_cast<char>(compression_type), &CompressionType::byte);
  return found == kCompressionTypes.end() ? std::nullopt : std::optional(found->codec);
}

Result<CodecId> require_codec(std::uint8_t compression_type) {
  const auto codec = codec_of(compression_type);
  if (codec) return *codec;
  return Error{.code = Code::kUnsupported, .detail = fmt::format("unknown compression type {}", compression_type)};
}

Result<CodecId> writable_codec(std::string_view name) {
  for (const CompressionType& type : kCompressionTypes) {
    if (to_string(type.codec) == name && can_compress(type.codec)) return type.codec;
  }
  return Error{.code = Code::kUnsupported, .detail = fmt::format("chunks cannot be compressed with '{}'", name)};
}

char compression_type_of(CodecId codec) {
  return std::ranges::find(kCompressionTypes, codec, &CompressionType::codec)->byte;
}

Result<void> append_unit(std::string& out, CodecId codec, CompressionLevel level, Bytes content) {
  if (codec != CodecId::kNone) protobuf::append_varint(out, content.size());
  return compress(codec, level, content, out);
}

Result<UnitContent> open_unit(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t limit) {
  if (codec == CodecId::kNone) {
    if (stored.size() > limit) {
      return Error{.code = Code::kLimit, .detail = fmt::format("a part is longer than {} bytes", limit)};
    }
    return UnitContent(stored);
  }
  ASSIGN_OR_RETURN(const auto compressed, split_compressed(codec, stored));
  const std::uint64_t declared = compressed.declared;
  if (declared <= limit && declared <= believable_size(compressed.stream.size())) {
    auto whole = Buffer::allocate(context, static_cast<std::size_t>(declared));
    if (whole && decompress_into(context, codec, compressed.stream, whole->span()))
      return UnitContent(std::move(*whole));
    // The declared size may be wrong.
  }
  ASSIGN_OR_RETURN(auto content,
                   decompress(context, codec, compressed.stream, declared, limit, std::max(limit, kStreamMemory)));
  return UnitContent(std::move(content));
}

Result<std::uint64_t> declared_size(CodecId codec, Bytes stored) {
  if (codec == CodecId::kNone) return stored.size();
  ASSIGN_OR_RETURN(const auto compressed, split_compressed(codec, stored));
  return compressed.declared;
}

Result<Bytes> unit_stream(CodecId codec, Bytes stored) {
  ASSIGN_OR_RETURN(const auto compressed, split_compressed(codec, stored));
  return compressed.stream;
}

Result<void> open_unit_into(const RequestContext& context, CodecId codec, Bytes stored, MutableBytes out) {
  if (codec == CodecId::kNone) {
    if (stored.size() != out.size()) {
      return damage(fmt::format("{} stored where {} were declared", counted(stored.size(), "byte"), out.size()));
    }
    copy_bytes(stored, out);
    return {};
  }
  ASSIGN_OR_RETURN(const auto stream, unit_stream(codec, stored));
  return decompress_into(context, codec, stream, out);
}

}  // namespace recordfs::riegeli
