// A small writer of recordio files, current and legacy, for tests and benchmarks: writes any content, valid or not,
// with valid checksums.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recordfs::recordio_writer {

inline constexpr std::size_t kChunkSize = 32768;
inline constexpr std::size_t kLargestPayload = 32740;

enum class Magic { kHeader, kBody, kTrailer };

std::string varint(std::uint64_t value);

// Returns a block's content: count, sizes, items.
std::string content_of(const std::vector<std::string>& items);

// One chunk of 32 KiB.
struct ChunkSpec {
  Magic magic = Magic::kBody;
  std::string payload = {};
  std::uint32_t total = 1;
  std::uint32_t index = 0;
  std::uint32_t flag = 0;
};
std::string chunk(const ChunkSpec& spec);

// Returns a block, split into chunks of `largest` bytes, except for the last.
std::string block(Magic magic, std::string_view content, std::size_t largest = kLargestPayload);
inline std::string body(const std::vector<std::string>& items) { return block(Magic::kBody, content_of(items)); }

// Return typed values of a header block.
std::string bool_value(bool value);
std::string int_value(std::int64_t value);
std::string uint_value(std::uint64_t value);
std::string string_value(std::string_view value);

struct Pair {
  std::string key;    // typed
  std::string value;  // typed
};
std::string header(const std::vector<Pair>& pairs);
// Returns a header that names transformers.
std::string header_with(const std::vector<std::string>& transformers);

// Recomputes the checksum of the chunk at `begin`.
void mend_chunk(std::string& file, std::size_t begin);

std::string unpacked(std::string_view item);
// `stored` is the transformer's output for the items.
std::string packed(const std::vector<std::string>& items, std::string_view stored);
std::string packed(const std::vector<std::string>& items);
// Returns a legacy record with any payload.
std::string legacy_record(std::uint64_t magic, std::string_view payload);

}  // namespace recordfs::recordio_writer
