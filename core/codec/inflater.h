// Inflater: an incremental, copyable decompressor for deflate streams. For random access to streams that are too large
// to hold in memory: a copy continues from the point where it was made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/codec/codec.h"

namespace recordfs {

// Not thread-safe.
class Inflater {
 public:
  // Opens a decompressor for one gzip member (kGzip) or one zlib stream (kZlib). Fails with kOutOfMemory, and with
  // kUnsupported for other codecs or if this build lacks zlib.
  static Result<std::unique_ptr<Inflater>> open(CodecId codec);
  virtual ~Inflater() = default;

  // Memory held by one object, in bytes: the deflate window and the Huffman tables.
  static constexpr std::uint64_t kMemory = 48u << 10;

  // Returns a copy in the same state. Fails with kOutOfMemory.
  virtual Result<std::unique_ptr<Inflater>> copy() const = 0;

  enum class Verdict : std::uint8_t { kGoesOn, kEnded, kBroken };
  struct Step {
    std::size_t taken = 0;
    std::size_t given = 0;
    Verdict verdict = Verdict::kGoesOn;
    std::string reason{};           // set if verdict is kBroken
    bool needs_dictionary = false;  // why it is kBroken
  };
  // Decompresses from `stored` to `out` until one of them is used up. `stored` starts where the previous step stopped.
  //
  // The number of bytes taken when `out` is full depends only on the stream, under one condition. At least kLookahead
  // bytes of `stored` must remain, or `stored` must end with the stream. If fewer remain, one more step with an empty
  // `out` has the same effect.
  //
  // Bytes given before an error was found are valid. Fails with kOutOfMemory. REQUIRES: the member has
  // not ended or failed.
  virtual Result<Step> step(Bytes stored, MutableBytes out) = 0;
  static constexpr std::size_t kLookahead = 4096;

  // Prepares for the next member after one has ended.
  virtual void reset() = 0;
};

}  // namespace recordfs
