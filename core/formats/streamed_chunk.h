// A chunk whose payload is one compressed stream, decompressed no further than somebody reads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/patient_mutex.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"

namespace recordfs {

// The first read decompresses up to its end, for it may be the only one; the second one decompresses all. In a stream
// that is broken, what comes out in front of the broken piece can be read, in whatever order it is asked for.
class StreamedChunk final : public Chunk {
 public:
  struct Compressed {
    Buffer stored;          // verified
    std::size_t begin = 0;  // of the stream in it, which goes up to its end
    CodecId codec = CodecId::kNone;
    std::size_t payload = 0;  // bytes that have to come out
    Tail tail = Tail::kDamage;
    std::uint64_t memory = kStreamMemory;  // for what the stream wants before its first byte comes, as in codec.h
  };

  // Whether it is worth it for a payload of so many bytes: a codec that can be read in part, and more than a piece.
  static bool is_worth(CodecId codec, std::uint64_t payload);

  // `explain` adds to a codec's error where it happened; any thread.
  // REQUIRES: layout.end() <= compressed.payload, is_worth(compressed.codec, compressed.payload).
  StreamedChunk(Compressed compressed, Layout layout, std::function<Error(Error)> explain);

  std::uint64_t payload_size() const override { return payload_; }
  // Fails as the codec does, with kDamage also where something else than the payload comes out. Memory is taken as it
  // is in decompress_exactly().
  Result<Slice> read(std::uint64_t offset, std::uint64_t length) const override;
  std::uint64_t memory() const override { return memory_; }

 private:
  using Front = std::shared_ptr<const Buffer>;

  Front front() const;
  void set_front(Buffer bytes) const;
  Result<void> decode(std::uint64_t end) const;
  Result<Buffer> sound_front(std::size_t most) const;
  Bytes stream() const { return stored_.view().subspan(begin_); }

  const std::size_t begin_;
  const CodecId codec_;
  const std::size_t payload_;
  const Tail tail_;
  const std::uint64_t stream_memory_;
  const std::uint64_t memory_;
  const std::function<Error(Error)> explain_;

  mutable PatientMutex decoding_;         // held for long; guards what follows
  mutable Buffer stored_;                 // empty once all is decoded
  mutable std::optional<Error> failure_;  // of all that lies behind the front
  mutable std::mutex mutex_;              // held for a moment; guards what follows
  mutable Front front_;                   // the payload from its first byte on, as far as it is decoded
};

}  // namespace recordfs
