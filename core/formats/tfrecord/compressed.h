// A TFRecord file that is a single gzip or zlib stream. FORMAT.md, "Compressed files".
#pragma once

#include <memory>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/codec/codec.h"
#include "core/formats/tfrecord/container.h"

namespace recordfs::tfrecord {

// Identifies a stream at the head of a file that decodes to records or to nothing. Returns nullopt for anything else.
// `head` is all of a small file.
struct Packing {
  CodecId codec = CodecId::kGzip;
  bool has_record = false;
};
// Fails with kOutOfMemory.
Result<std::optional<Packing>> find_packing(const RequestContext& context, Bytes head);

// Opens a compressed file.
std::unique_ptr<Container> open_compressed(std::shared_ptr<const Source> source, const Limits& limits, CodecId codec);

}  // namespace recordfs::tfrecord
