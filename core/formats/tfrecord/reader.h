// Reads of an uncompressed file that are smaller than a record, or larger than fits in memory.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"

namespace recordfs::tfrecord {

// Returns a reader of record headers, from windows that suit the distances between them.
inline WindowedReader header_reader(const Source& source) { return {source, 512, 64u << 10}; }

// Returns whether the `length` bytes of data at `begin` match the checksum after them; reads in pieces. Also false if
// the source ends first. Fails as Source does.
Result<bool> is_sound(const Source& source, Position begin, std::uint64_t length);

}  // namespace recordfs::tfrecord
