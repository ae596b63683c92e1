// Which records of a chunk, or of a batch, match a pattern. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/bulk.h"
#include "core/search/record_matcher.h"
#include "core/store/record_store.h"

namespace recordfs {

// Returns a text of a record that is searched instead of its bytes; nullopt if it has none, and so does not match.
// Thread-safe.
using TextOfRecord = std::function<Result<std::optional<std::string>>(const ChunkInfo& chunk, Bytes record)>;

struct Search {
  const RecordMatcher& matcher;
  bool is_inverted = false;                   // selects the records that do not match
  bool wants_matches = false;                 // also where they match
  std::uint64_t most = UINT64_MAX;            // selected records
  std::uint64_t largest_record = UINT64_MAX;  // bytes of a record that is searched
  TextOfRecord text_of{};                     // for search_chunk(); none: the bytes are searched
};

struct FoundRecord {
  std::uint64_t index = 0;       // in its chunk
  std::vector<Match> matches{};  // in order, without empty ones; none unless wanted
  std::string text{};            // that the matches are in, if there is a Search::text_of
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
