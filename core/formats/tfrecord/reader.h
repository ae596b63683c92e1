// Reads of an uncompressed file that are smaller than a record, or larger than fits in memory.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs::tfrecord {

// Reads record headers. One read of the source serves many headers that are close together. Not thread-safe. The
// source must outlive it.
class HeaderReader {
 public:
  explicit HeaderReader(const Source& source) : source_(source) {}

  // Returns the kHeaderSize bytes at `at`, fewer only at the end of the source; valid until the next call. Fails as
  // Source does.
  Result<Bytes> at(Position at);

 private:
  const Source& source_;
  Slice window_;
  Position begin_ = 0;
  std::uint64_t width_ = 0;
};

// Returns whether the `length` bytes of data at `begin` match the checksum after them; reads in pieces. Also false if
// the source ends first. Fails as Source does.
Result<bool> is_sound(const Source& source, Position begin, std::uint64_t length);

}  // namespace recordfs::tfrecord
