// Compression, the counterpart of codec.h. The output depends only on the content, the level and the library's version.
//
// Errors: kUnsupported if this build lacks the library; kLimit if the content is too long for the codec; kOutOfMemory.
// Throws std::bad_alloc if the output cannot grow. Thread-safe, unless stated otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codec/codec.h"

namespace recordfs {

// The level of a codec, as its library counts them. Levels that the library does not have become the nearest one that
// it has. nullopt is the usual level: zstd 3, Brotli 6, deflate 6. Snappy has no levels.
using CompressionLevel = std::optional<int>;

// Returns whether compress() supports `codec`: kNone, and kZstd, kBrotli, kSnappy, kDeflate, kZlib, kGzip if this build
// has their library.
bool can_compress(CodecId codec);

// Appends the compressed form of `content` to `out`, as one frame, stream, member or block. kNone copies. A zstd frame
// states its content size and has no checksum. If it fails, `out` is unspecified.
Result<void> compress(CodecId codec, CompressionLevel level, Bytes content, std::string& out);

// Appends `content` as a bare LZ4 block, which states neither its size nor its end (lz4_block.h). Fails with kLimit for
// more than 2 GB.
Result<void> compress_lz4_block(Bytes content, std::string& out);

// A compressor of content of any length that arrives in pieces. Not thread-safe.
class CompressStream {
 public:
  virtual ~CompressStream() = default;
  // Compresses `content`, and appends the compressed bytes that are ready to `out`. After a failure, the stream is
  // unusable.
  virtual Result<void> append(Bytes content, std::string& out) = 0;
  // Ends the frame, stream or member, and appends the rest of it to `out`. The next append() begins another one.
  virtual Result<void> finish(std::string& out) = 0;
};

// Opens a stream for kNone, kZstd, kDeflate, kZlib or kGzip. A zstd stream ends with a checksum. Fails with
// kUnsupported for other codecs.
Result<std::unique_ptr<CompressStream>> open_compressor(CodecId codec, CompressionLevel level = {});

}  // namespace recordfs
