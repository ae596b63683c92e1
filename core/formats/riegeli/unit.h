// The compression of chunk data: the byte that selects the codec, and the compressed units after it (Riegeli
// specification, "Chunk data"). Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codec/codec.h"
#include "core/codec/compress.h"

namespace recordfs::riegeli {

inline constexpr std::uint64_t kLongestVarint = 10;  // bytes

// Returns the codec of a compression type byte, or nullopt for an unknown byte.
std::optional<CodecId> codec_of(std::uint8_t compression_type);

// As codec_of(), but fails with kUnsupported for an unknown byte.
Result<CodecId> require_codec(std::uint8_t compression_type);

// Returns the codec with this name, as ChunkInfo::codec has it. Fails with kUnsupported if chunks cannot be written in
// it.
Result<CodecId> writable_codec(std::string_view name);

// Returns the compression type byte of a codec. REQUIRES: codec_of() of some byte returns `codec`.
char compression_type_of(CodecId codec);

// Appends a unit with this content. Fails as compress().
Result<void> append_unit(std::string& out, CodecId codec, CompressionLevel level, Bytes content);

// The content of a unit: a view of the stored bytes if they are not compressed, otherwise an owned buffer.
class UnitContent {
 public:
  UnitContent() = default;
  explicit UnitContent(Bytes stored) : bytes_(stored) {}
  explicit UnitContent(Buffer owned) : owned_(std::move(owned)), bytes_(owned_.view()) {}
  Bytes bytes() const { return bytes_; }

 private:
  Buffer owned_;
  Bytes bytes_;
};

// Returns the content of a unit, at most `limit` bytes. The size that precedes a compressed unit is only a hint and is
// not compared with the result. `stored` must outlive the result. Fails with kDamage, with kLimit above `limit`, and as
// the codec does.
Result<UnitContent> open_unit(const RequestContext& context, CodecId codec, Bytes stored, std::uint64_t limit);

// Returns the size of a unit's content; if it is compressed, as declared. Fails with kDamage if it declares none.
Result<std::uint64_t> declared_size(CodecId codec, Bytes stored);

// Returns the compressed stream of a unit as a view of its end. Fails with kDamage if there is no stream, or bytes
// follow it. REQUIRES: codec is not kNone.
Result<Bytes> unit_stream(CodecId codec, Bytes stored);

// Decompresses a unit into all of `out`. Fails with kDamage if the content is longer or shorter.
Result<void> open_unit_into(const RequestContext& context, CodecId codec, Bytes stored, MutableBytes out);

}  // namespace recordfs::riegeli
