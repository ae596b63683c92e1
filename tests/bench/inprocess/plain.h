// The lower bound for decoding: only the calls of the checksum and the codec, on chunks in memory.
#pragma once

#include <memory>

#include "tests/bench/data/form.h"

namespace recordfs::bench {

// Reuses contexts and the buffer between calls. One thread.
class PlainDecoder {
 public:
  PlainDecoder();
  ~PlainDecoder();
  PlainDecoder(const PlainDecoder&) = delete;
  PlainDecoder& operator=(const PlainDecoder&) = delete;

  // Verifies and decompresses a chunk, or copies it if it is not compressed. Returns false on a failure or a wrong
  // size.
  bool decode(const PackedChunk& chunk);
  // Decompresses the first half of the chunk's last piece. REQUIRES: that piece is a zstd frame.
  bool decode_half(const PackedChunk& chunk);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace recordfs::bench
