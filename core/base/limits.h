// Limits: how large a thing in a file may be before it is refused. Product numbers, raised by options,
// and lowered by tests. A value beyond a limit is Code::kLimit, never an allocation.
#pragma once

#include <algorithm>
#include <cstdint>

namespace recordfs {

struct Limits {
  std::uint64_t stored_chunk = 256ull << 20;      // bytes of one chunk as it stands in the file
  std::uint64_t decoded_chunk = 1ull << 30;       // bytes of one chunk after decoding
  std::uint64_t records_per_chunk = 16ull << 20;  // records of one chunk
  std::uint64_t parts_per_record = 1ull << 20;    // directories and files inside one record
  std::uint64_t metadata_bytes = 64ull << 20;     // all decoded metadata of a container, and its trailer
  std::uint64_t metadata_values = 65536;          // keys and values of one container
  std::uint32_t nesting_depth = 100;              // of anything that nests
  std::uint64_t scan_bytes = 8ull << 20;          // read by one call of Container::scan before it reports progress
};

// Returns whether a chunk that declares `decoded` bytes could ever be read: decoded within the limits, or in place from
// its `stored` bytes. A declared size for which this is false must not become the size of a file.
constexpr bool could_be_read(std::uint64_t decoded, std::uint64_t stored, const Limits& limits) {
  return decoded <= std::max(limits.decoded_chunk, stored);
}

// For chunks of at most `bytes`, as stored and as decoded. Where that is more than what is usual, a chunk may have more
// records, and a container more metadata, in proportion.
constexpr Limits limits_for_chunks_of(std::uint64_t bytes) {
  Limits limits;
  const std::uint64_t times = std::max<std::uint64_t>(bytes / limits.decoded_chunk, 1);
  limits.records_per_chunk = std::min(times, UINT64_MAX / limits.records_per_chunk) * limits.records_per_chunk;
  limits.metadata_bytes = std::min(times, UINT64_MAX / limits.metadata_bytes) * limits.metadata_bytes;
  limits.stored_chunk = bytes;
  limits.decoded_chunk = bytes;
  return limits;
}

}  // namespace recordfs
