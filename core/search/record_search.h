// Which records of a chunk, or of a batch, match a pattern. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/formats/bulk.h"
#include "core/search/record_matcher.h"
#include "core/store/record_store.h"

namespace recordfs {

struct Search {
  const RecordMatcher& matcher;
  bool is_inverted = false;                   // selects the records that do not match
  bool wants_matches = false;                 // also where they match
  std::uint64_t most = UINT64_MAX;            // selected records
  std::uint64_t largest_record = UINT64_MAX;  // bytes of a record that is searched
};

struct FoundRecord {
  std::uint64_t index = 0;       // in its chunk
  std::vector<Match> matches{};  // in order, without empty ones; none unless wanted
};

struct SearchResult {
  std::vector<FoundRecord> records{};
  std::vector<Error> failures{};  // of records that cannot be read
};

// Searches the records of a decoded chunk.
SearchResult search_chunk(const RequestContext& context, const RecordStore& store, const ChunkInfo& info,
                          const Chunk& chunk, const Search& wanted);

// Searches records that were read together.
std::vector<FoundRecord> search_batch(const RecordBatch& batch, const Search& wanted);

}  // namespace recordfs
