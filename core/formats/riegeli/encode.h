// Encodes chunks: the counterpart of simple.h and transposed/decode.h. Thread-safe.
//
// A chunk is its header and its data, without the block headers that interrupt it in a file. All functions fail as
// compress(), and with kOutOfMemory.
#pragma once

#include <span>
#include <string>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli {

// How the data of chunks is compressed.
struct Compression {
  CodecId codec = CodecId::kZstd;
  CompressionLevel level{};
};

// Appends a simple chunk with these records. Fails with kLimit if no reader would take so many records.
Result<void> append_simple_chunk(const RequestContext& context, std::string& out, const Compression& compression,
                                 std::span<const Bytes> records);

// Appends a chunk with the file metadata, a RecordsMetadata message.
Result<void> append_metadata_chunk(std::string& out, const Compression& compression, Bytes message);

}  // namespace recordfs::riegeli
