// A stretch of the file that is read forwards in small steps: one read of the source serves many of them.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs::proio {

// Not thread-safe.
class Window {
 public:
  // Reads `width` bytes at a time.
  Window(const Source& source, std::uint64_t width) : source_(source), width_(width) {}

  // The bytes from `at` on: at least `least`, fewer only where the source ends; valid until the next call. Fails as
  // Source does. REQUIRES: least <= width.
  Result<Bytes> from(Position at, std::uint64_t least);

  // How many bytes of the source were read.
  std::uint64_t bytes_read() const { return bytes_read_; }
  const Source& source() const { return source_; }

 private:
  const Source& source_;
  const std::uint64_t width_;
  Position begin_ = 0;
  Buffer bytes_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace recordfs::proio
