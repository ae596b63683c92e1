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
  std::uint64_t decoded_file = 3ull << 30;      // decoded by one scan of a file; decoded_ratio permits more
  std::uint64_t decoded_ratio = 2000;           // of what one scan decodes to the size of the file
  std::uint64_t parts_per_record = 1ull << 20;  // directories and files in one record
  std::uint64_t metadata_bytes = 64ull << 20;   // all decoded metadata of a container, with its trailer
  std::uint64_t metadata_values = 65536;        // keys and values of one container
  std::uint64_t metadata_block = 1ull << 20;    // of one block of metadata; kMetadataRatio permits more
  std::uint64_t index_bytes = 16ull << 20;      // of a decoded index; kIndexRatio permits more
  std::uint32_t nesting_depth = 100;            // of nested groups, messages, ...
  std::uint64_t scan_bytes = 8ull << 20;        // read by one call of Container::scan
};

// Returns whether a chunk that declares `decoded` bytes can be read: decoded within the limits, or in place from its
// `stored` bytes. If not, recordfs must not show its declared size as a file's size.
constexpr bool could_be_read(std::uint64_t decoded, std::uint64_t stored, const Limits& limits) {
  return decoded <= std::max(limits.decoded_chunk, stored);
}

// Writers hardly compress metadata, and an index is smaller than what it lists.
inline constexpr std::uint64_t kMetadataRatio = 64;  // decoded bytes of metadata for each stored byte
inline constexpr std::uint64_t kIndexRatio = 16;     // decoded bytes of an index for each byte of its file

// Returns how many bytes a block of metadata that is stored in `stored` bytes may have after decoding.
constexpr std::uint64_t largest_metadata_block(std::uint64_t stored, const Limits& limits) {
  const std::uint64_t bytes = stored > UINT64_MAX / kMetadataRatio ? UINT64_MAX : kMetadataRatio * stored;
  return std::min({std::max(limits.metadata_block, bytes), limits.metadata_bytes, limits.decoded_chunk});
}

// Returns how many bytes the index of a file of `file_size` bytes may have after decoding.
constexpr std::uint64_t largest_index(std::uint64_t file_size, const Limits& limits) {
  const std::uint64_t bytes = file_size > UINT64_MAX / kIndexRatio ? UINT64_MAX : kIndexRatio * file_size;
  return std::min({std::max(limits.index_bytes, bytes), limits.stored_chunk, limits.decoded_chunk});
}

// A scan counts a record as so many bytes besides its own, for its place and its text.
inline constexpr std::uint64_t kBytesOfARecord = 64;

// Returns how many bytes one scan of a file of `file_size` bytes may decode.
constexpr std::uint64_t largest_decoded_file(std::uint64_t file_size, const Limits& limits) {
  const bool is_huge = limits.decoded_ratio > 0 && file_size > UINT64_MAX / limits.decoded_ratio;
  return std::max(limits.decoded_file, is_huge ? UINT64_MAX : limits.decoded_ratio * file_size);
}

// Returns limits for chunks of up to `bytes`, both stored and decoded. Above the default, the limits on records,
// metadata and whole files grow in proportion.
constexpr Limits limits_for_chunks_of(std::uint64_t bytes) {
  Limits limits;
  const std::uint64_t times = std::max<std::uint64_t>(bytes / limits.decoded_chunk, 1);
  limits.records_per_chunk = std::min(times, UINT64_MAX / limits.records_per_chunk) * limits.records_per_chunk;
  for (std::uint64_t* limit :
       {&limits.metadata_bytes, &limits.metadata_block, &limits.index_bytes, &limits.decoded_file}) {
    *limit *= std::min(times, UINT64_MAX / *limit);
  }
  limits.stored_chunk = bytes;
  limits.decoded_chunk = bytes;
  return limits;
}

}  // namespace recordfs
