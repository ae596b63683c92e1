// The largest values that recordfs accepts from a file. A larger value fails with kLimit before anything is allocated.
// Options raise the limits, tests lower them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace recordfs {

struct Limits {
  std::uint64_t stored_chunk = 256ull << 20;  // bytes of one chunk as stored
  std::uint64_t decoded_chunk = 1ull << 30;   // bytes of one chunk after decoding
  std::uint64_t records_per_chunk = 16ull << 20;
  std::uint64_t parts_per_record = 1ull << 20;  // directories and files in one record
  std::uint64_t metadata_bytes = 64ull << 20;   // all decoded metadata of a container, with its trailer
  std::uint64_t metadata_values = 65536;        // keys and values of one container
  std::uint32_t nesting_depth = 100;            // of nested groups, messages, ...
  std::uint64_t scan_bytes = 8ull << 20;        // read by one call of Container::scan
};

// Returns whether a chunk that declares `decoded` bytes can be read: decoded within the limits, or in place from its
// `stored` bytes. If not, recordfs must not show its declared size as a file's size.
constexpr bool could_be_read(std::uint64_t decoded, std::uint64_t stored, const Limits& limits) {
  return decoded <= std::max(limits.decoded_chunk, stored);
}

// Returns limits for chunks of up to `bytes`, both stored and decoded. Above the default, the limits on records and
// metadata grow in proportion.
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
