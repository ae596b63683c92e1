// A read buffer for small forward steps in a file: one read of the source serves many steps.
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
  // Reads `width` bytes of the source at a time.
  Window(const Source& source, std::uint64_t width) : source_(source), width_(width) {}

  // Returns the bytes from `at` on: at least `least` bytes, or fewer at the end of the source. The result is valid
  // until the next call. Fails as Source does. REQUIRES: least <= width.
  Result<Bytes> from(Position at, std::uint64_t least);

  // Returns the number of bytes read from the source.
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
