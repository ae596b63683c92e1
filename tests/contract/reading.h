// Everything that a container returns when it is read completely, small enough to compare with another reading.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::contract {

// One record: its position, its size, and a hash of its bytes.
struct Mark {
  Position chunk_begin = 0;
  std::uint64_t index = 0;
  std::uint64_t size = 0;
  std::size_t hash = 0;
  bool operator==(const Mark&) const = default;
  bool same_bytes(const Mark& other) const { return size == other.size && hash == other.hash; }
};

// One call of scan() and its result.
struct Visit {
  ChunkKey at;
  Step step;
};

struct Walk {
  std::vector<Visit> visits;
  std::vector<Error> errors;  // at most one: it ends the scan
  bool endless = false;       // more than size + 1 steps
  bool in_file_order = true;  // as reported by the container

  std::vector<ChunkInfo> chunks() const;
  std::vector<DamagedRegion> damage() const;
};

// Scans a container over `size` bytes from its beginning, until the end or the first error.
Walk walk(const Container& container, std::uint64_t size);

struct Reading {
  Walk walk;
  std::vector<Mark> records;    // the readable ones, in the container's order
  std::vector<Error> refused;   // from chunks that could not be decoded
  std::vector<Error> failures;  // from unreadable records of decoded chunks

  // Whether a reader of these results learns of damage.
  bool reports_damage() const;
};

// Called with each readable record and its ordinal, which also counts unreadable ones.
using Visitor = std::function<void(std::uint64_t ordinal, Bytes record)>;

// Scans and decodes everything. Skips the remaining chunks after `max_decoded` decoded bytes.
Reading read_all(const Container& container, std::uint64_t size, const Visitor& visitor = {},
                 std::uint64_t max_decoded = UINT64_MAX);

// Appends the readable records of one decoded chunk to `reading`.
void read_records(const ChunkInfo& info, const Chunk& chunk, std::uint64_t first_ordinal, const Visitor& visitor,
                  Reading& reading);

// Whether `part` is `whole` without some of its records.
bool is_subsequence(const std::vector<Mark>& part, const std::vector<Mark>& whole);

// Whether two descriptions of a chunk are equivalent for a reader.
bool same_chunk(const ChunkInfo& a, const ChunkInfo& b);
bool same_region(const DamagedRegion& a, const DamagedRegion& b);
bool same_step(const Step& a, const Step& b);

// "[begin, end) kind", for messages.
std::string to_string(const ChunkInfo& chunk);
std::string to_string(const DamagedRegion& region);

}  // namespace recordfs::contract
