// What one call reads of the file: the frames around a place are read once, whoever asks for them. A container
// has no cache, so a window lives no longer than the call.
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
  // At most `length` bytes from `at`, fewer only where the file ends. They stay valid until the next call. Fails as
  // Source does. REQUIRES: length <= 2 * kFrameSize.
  Result<Bytes> view(Position at, std::uint64_t length);
  // The header at `at`, read alone where the frame is not held anyway; nullopt where there is none.
  Result<std::optional<FrameHeader>> header(Position at);
  // The same, its checksum verified: nullopt too where that is wrong or the file ends inside the fragment.
  Result<std::optional<FrameHeader>> sound_header(Position at);
  // Where data may follow behind the frame at the multiple `slot`: at its end, unless it is a piece of a hole.
  Result<Position> behind_hole(Position slot);
  // How many bytes were checked against a checksum.
  std::uint64_t checked() const { return checked_; }

 private:
  // What stands in the file from one multiple of kFrameSize to the next.
  struct Slot {
    Position begin = 0;
    Buffer bytes;
    bool filled = false;
  };

  Result<Bytes> slot(Position begin);
  const Slot* held(Position begin) const;

  const Source& source_;
  std::array<Slot, 6> slots_;
  std::size_t next_ = 0;  // to be replaced
  Buffer joined_;         // bytes of more than one slot
  std::uint64_t checked_ = 0;
};

}  // namespace recordfs::recordio
