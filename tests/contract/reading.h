// What a container gives when all of it is read, kept small enough to compare with another reading.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::contract {

// One record: where it stands, how long it is, and a hash of its bytes.
struct Mark {
  Position chunk_begin = 0;
  std::uint64_t index = 0;
  std::uint64_t size = 0;
  std::size_t hash = 0;
  bool operator==(const Mark&) const = default;
  bool same_bytes(const Mark& other) const { return size == other.size && hash == other.hash; }
};

// One call of scan() and what it said.
struct Visit {
  ChunkKey at;
  Step step;
};

struct Walk {
  std::vector<Visit> visits;
  std::vector<Error> errors;  // at most one: it ends the walk
  bool endless = false;       // more than size + 1 steps
  bool in_file_order = true;  // as the container says

  std::vector<ChunkInfo> chunks() const;
  std::vector<DamagedRegion> damage() const;
};

// All steps from the beginning of a container over `size` bytes, or until scan() fails.
Walk walk(const Container& container, std::uint64_t size);

struct Reading {
  Walk walk;
  std::vector<Mark> records;    // the readable ones, in the container's order
  std::vector<Error> refused;   // chunks that decode refused
  std::vector<Error> failures;  // records of decoded chunks that can't be read

  // Whether whoever looks is told that something is amiss.
  bool reports_damage() const;
};

// Called with each readable record and its ordinal, which counts those that can't be read too.
using Visitor = std::function<void(std::uint64_t ordinal, Bytes record)>;

// Walks and decodes everything. At most `max_decoded` bytes are decoded; the chunks behind are left out.
Reading read_all(const Container& container, std::uint64_t size, const Visitor& visitor = {},
                 std::uint64_t max_decoded = UINT64_MAX);

// The readable records of one decoded chunk, appended to `reading`.
void read_records(const ChunkInfo& info, const Chunk& chunk, std::uint64_t first_ordinal, const Visitor& visitor,
                  Reading& reading);

// Whether `part` is `whole` with some records left out.
bool is_subsequence(const std::vector<Mark>& part, const std::vector<Mark>& whole);

// Whether two descriptions of a chunk say the same to whoever reads it.
bool same_chunk(const ChunkInfo& a, const ChunkInfo& b);
bool same_region(const DamagedRegion& a, const DamagedRegion& b);
bool same_step(const Step& a, const Step& b);

// "[begin, end) kind", for messages.
std::string to_string(const ChunkInfo& chunk);
std::string to_string(const DamagedRegion& region);

}  // namespace recordfs::contract
