// Reads small pieces of a source, mostly forwards. One read of the source serves many of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/request_context.h"
#include "core/base/source.h"

namespace recordfs {

// A window that moves over a source. Not thread-safe.
class WindowedReader {
 public:
  // Windows have `width` bytes. While they stay close together, each is twice as wide as the last one, up to `largest`.
  // REQUIRES: `source` outlives the object.
  WindowedReader(const Source& source, std::uint64_t width, std::uint64_t largest = 0)
      : source_(&source), first_width_(width), largest_(std::max(width, largest)) {}

  // Returns the bytes from `at` on: at least `least` bytes, or fewer at the end of the source. The result is valid
  // until the window moves. Fails like Source::view_at(), and with kChanged. REQUIRES: least <= width.
  Result<Bytes> from(const RequestContext& context, Position at, std::uint64_t least);
  // Returns the same if it needs no read; otherwise nullopt.
  std::optional<Bytes> held(Position at, std::uint64_t least) const {
    if (at < begin_ || at - begin_ > window_.bytes.size()) return std::nullopt;
    const Bytes rest = window_.bytes.subspan(static_cast<std::size_t>(at - begin_));
    const bool suffices = rest.size() >= least || at + rest.size() >= source_->size();
    return suffices ? std::optional(rest) : std::nullopt;
  }

  const Source& source() const { return *source_; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  const Source* source_;
  std::uint64_t first_width_;
  std::uint64_t largest_;
  std::uint64_t width_ = 0;  // of the last window
  Slice window_;
  Position begin_ = 0;  // of the window
  std::uint64_t bytes_read_ = 0;
};

}  // namespace recordfs
