// Limits: how large a thing in a file may be before it is refused. Product numbers, raised by options,
// and lowered by tests. A value beyond a limit is Code::kLimit, never an allocation.
#pragma once

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

}  // namespace recordfs
