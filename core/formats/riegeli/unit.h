// The compression of chunk data: the byte that names the codec, and the compressed units behind it
// (specification, "Chunk data"). Any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codec/codec.h"

namespace recordfs::riegeli {

// The codec of a compression type byte; nullopt for a byte that names none.
std::optional<CodecId> codec_of(std::uint8_t compression_type);

// The same with its failure: kUnsupported for a byte that names no codec.
Result<CodecId> require_codec(std::uint8_t compression_type);

// A unit's content: a view of the stored bytes where they are not compressed, otherwise a buffer of its own.
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

// The whole content of a unit of unknown size, at most `limit` bytes. The size that stands before a compressed
// unit is a hint and no more: it is not held against what comes out. `stored` has to outlive the result.
// Fails with kDamage, kLimit above `limit`, and as the codec does.
Result<UnitContent> open_unit(CodecId codec, Bytes stored, std::uint64_t limit);

// The one compressed stream of a unit, a view of its end. Fails with kDamage when there is none, or something behind
// it. REQUIRES: codec is not kNone.
Result<Bytes> unit_stream(CodecId codec, Bytes stored);

// The content of a unit into all of `out`. Fails with kDamage when it is longer or shorter.
Result<void> open_unit_into(CodecId codec, Bytes stored, MutableBytes out);

}  // namespace recordfs::riegeli
