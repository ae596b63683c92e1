// The part of the file that one call reads. Frames around a position are read once. A container has no cache, so a
// window is created for each call.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/source.h"
#include "core/formats/recordio/current/wire.h"

namespace recordfs::recordio {

// One thread.
class Window {
 public:
  // REQUIRES: `source` outlives the object.
  explicit Window(const Source& source) : source_(source) {}

  std::uint64_t size() const { return source_.size(); }
  std::uint64_t generation() const { return source_.generation(); }
  // Returns at most `length` bytes from `at`, fewer only at the end of the file. They are valid until the next call.
  // Fails as Source does. REQUIRES: length <= 2 * kFrameSize.
  Result<Bytes> view(const RequestContext& context, Position at, std::uint64_t length);
  // Returns the header at `at`, or nullopt if there is none. Reads only the header unless the frame is cached.
  Result<std::optional<FrameHeader>> header(const RequestContext& context, Position at);
  // Also verifies the checksum. Returns nullopt too if it is wrong or the file ends inside the fragment.
  Result<std::optional<FrameHeader>> sound_header(const RequestContext& context, Position at);
  // Returns where data can follow the frame at the multiple `slot`: its end, or the end of the hole that it is part
  // of.
  Result<Position> data_after_hole(const RequestContext& context, Position slot);
  // Returns how many bytes were checked against a checksum.
  std::uint64_t checked() const { return checked_; }

 private:
  // The file's bytes from one multiple of kFrameSize to the next.
  struct Slot {
    Position begin = 0;
    Buffer bytes;
    bool filled = false;
  };

  Result<Bytes> slot(const RequestContext& context, Position begin);
  const Slot* held(Position begin) const;

  const Source& source_;
  std::array<Slot, 6> slots_;
  std::size_t next_ = 0;  // the slot to replace next
  Buffer joined_;         // holds a view across several slots
  std::uint64_t checked_ = 0;
};

}  // namespace recordfs::recordio
