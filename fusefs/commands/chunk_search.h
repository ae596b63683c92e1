// Looking through a chunk: which records match, and where.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/store/record_store.h"
#include "fusefs/commands/matcher.h"

namespace recordfs {

struct SearchRules {
  bool is_inverted = false;          // the records that do not match
  bool wants_matches = false;        // each match, and not only that there is one
  std::uint64_t most = UINT64_MAX;   // records of a chunk that are looked for
  std::uint64_t largest_record = 0;  // bytes that are held to look through them; a larger record fails with kLimit
};

struct FoundRecord {
  std::uint64_t index = 0;       // in its chunk
  std::vector<Match> matches{};  // those that are not empty, one behind the other; none where nobody wants them
};

// Looks through the records of a decoded chunk. `fail` is told of those that can't be read. Any thread.
std::vector<FoundRecord> search_chunk(const RecordStore& store, const ChunkInfo& info, const Chunk& chunk,
                                      const Matcher& matcher, const SearchRules& rules,
                                      const std::function<void(const Error&)>& fail);

}  // namespace recordfs
