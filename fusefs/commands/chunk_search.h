// Searches a chunk for matching records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/store/record_store.h"
#include "fusefs/commands/matcher.h"

namespace recordfs {

struct SearchRules {
  bool is_inverted = false;          // select records that do not match
  bool wants_matches = false;        // find the matches, not only the records
  std::uint64_t most = UINT64_MAX;   // maximum number of selected records per chunk
  std::uint64_t largest_record = 0;  // bytes; larger records that need a copy fail with kLimit
};

struct FoundRecord {
  std::uint64_t index = 0;       // in its chunk
  std::vector<Match> matches{};  // in order, without empty ones; none unless wanted
};

// Searches the records of a decoded chunk. Reports those that cannot be read to `fail`. Thread-safe.
std::vector<FoundRecord> search_chunk(const RecordStore& store, const ChunkInfo& info, const Chunk& chunk,
                                      const Matcher& matcher, const SearchRules& rules,
                                      const std::function<void(const Error&)>& fail);

}  // namespace recordfs
