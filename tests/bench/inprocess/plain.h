// What decoding cannot go below: the calls of the checksum and the codec alone, on chunks that are in memory.
#pragma once

#include <memory>

#include "tests/bench/data/form.h"

namespace recordfs::bench {

// Contexts and the buffer are kept from call to call. One thread.
class PlainDecoder {
 public:
  PlainDecoder();
  ~PlainDecoder();
  PlainDecoder(const PlainDecoder&) = delete;
  PlainDecoder& operator=(const PlainDecoder&) = delete;

  // Verifies and decompresses a chunk, or copies what is not compressed. False: something failed, or came out in
  // another size.
  bool decode(const PackedChunk& chunk);
  // Decompresses the first half of the chunk's last piece. REQUIRES: that is a zstd frame.
  bool decode_half(const PackedChunk& chunk);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace recordfs::bench
