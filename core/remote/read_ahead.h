// Decides what a source requests before it is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/remote/protocol.h"

namespace recordfs::remote {

// Recognizes readers that go forwards, several at a time. Not thread-safe.
class ReadAhead {
 public:
  // Bytes to request, whole blocks but for the end of the source.
  struct Range {
    Position begin = 0;
    Position end = 0;
    std::uint64_t part = kMostPerRead;  // bytes of each request; of the first one, if `growth` is not 0
    std::uint64_t growth = 0;           // bytes by which each request is larger than the one before, up to `largest`
    std::uint64_t largest = kMostPerRead;
    bool is_empty() const { return begin >= end; }
  };

  struct Memory {
    std::uint64_t blocks = 0;  // bytes of the cache, of which half may be read ahead
    std::uint64_t passes = 0;  // bytes, of which a pass over an object larger than the cache may have seven eighths
  };

  // `is_far`: a round trip to the server takes long.
  explicit ReadAhead(Memory memory, bool is_far = false);

  // States that the source will be read from front to end.
  void expect_all() { expects_all_ = true; }
  bool expects_all() const { return expects_all_; }
  // States that a reader will go from here to the end, so that there is no reason to begin with little.
  void begin_pass(Position begin);
  // Returns what to request, now that [at, end) of a source with `size` bytes is read. `room`: bytes that need not
  // become blocks in memory when they arrive.
  Range note(Position at, Position end, std::uint64_t size, std::uint64_t room = UINT64_MAX);
  // States that a range was requested up to `end` only. Later calls of note() return the rest again.
  void was_cut(const Range& range, Position end);

 private:
  struct Reader {
    Position next = 0;        // after its last read
    Position requested = 0;   // up to here it is read ahead
    std::uint64_t bytes = 0;  // that it has read; 0: there is no such reader
    std::uint64_t reads = 0;
    std::uint64_t used_at = 0;
    bool is_pass = false;  // goes on to the end
  };

  Reader* reader_at(Position at);
  // Returns the same, or a new one in place of the one that has not read for longest.
  Reader& made_reader_at(Position at);

  const Memory memory_;
  const std::uint64_t window_;       // bytes before a reader
  const std::uint64_t pass_window_;  // bytes before a pass over an object larger than the cache
  const std::uint64_t part_;
  const std::uint64_t pass_part_;
  const std::uint64_t growth_;
  bool expects_all_ = false;
  std::uint64_t time_ = 0;
  std::array<Reader, 4> readers_{};
};

}  // namespace recordfs::remote
