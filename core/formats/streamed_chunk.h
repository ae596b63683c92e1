// A chunk whose payload is one compressed stream, decompressed only as far as it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/cancellable_mutex.h"
#include "core/codec/codec.h"
#include "core/formats/chunk.h"

namespace recordfs {

// The first read decompresses up to its own end, since it may be the only one; the second one decompresses
// everything. If the stream is broken, the output before the broken piece is readable, in any order.
class StreamedChunk final : public Chunk {
 public:
  struct Compressed {
    Buffer stored;          // verified
    std::size_t begin = 0;  // of the stream, which extends to the end of `stored`
    CodecId codec = CodecId::kNone;
    std::size_t payload = 0;  // expected size of the output
    Tail tail = Tail::kDamage;
    std::uint64_t memory = kStreamMemory;  // memory that the stream needs before its first output, as in codec.h
  };

  // Returns whether streaming is worthwhile for this payload: the codec supports partial reads, and the payload
  // exceeds one piece.
  static bool is_worth(CodecId codec, std::uint64_t payload);

  // `explain` adds the position to a codec's error; it must be callable from any thread. REQUIRES: layout.end() <=
  // compressed.payload, is_worth(compressed.codec, compressed.payload).
  StreamedChunk(Compressed compressed, Layout layout, std::function<Error(Error)> explain);

  std::uint64_t payload_size() const override { return payload_; }
  // Fails as the codec does, and with kDamage if the output is not the expected payload. Allocates memory as
  // decompress_exactly() does.
  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override;
  std::uint64_t memory() const override { return memory_; }

 private:
  using Front = std::shared_ptr<const Buffer>;

  Front front() const;
  void set_front(Buffer bytes) const;
  Result<void> decode(const RequestContext& context, std::uint64_t end) const;
  Result<Buffer> sound_front(const RequestContext& context, std::size_t most) const;
  Bytes stream() const { return stored_.view().subspan(begin_); }

  const std::size_t begin_;
  const CodecId codec_;
  const std::size_t payload_;
  const Tail tail_;
  const std::uint64_t stream_memory_;
  const std::uint64_t memory_;
  const std::function<Error(Error)> explain_;

  mutable CancellableMutex decoding_;     // held during decoding; guards the next two members
  mutable Buffer stored_;                 // empty once everything is decoded
  mutable std::optional<Error> failure_;  // of all bytes after the front
  mutable std::mutex mutex_;              // held briefly; guards the next member
  mutable Front front_;                   // the decoded beginning of the payload
};

}  // namespace recordfs
