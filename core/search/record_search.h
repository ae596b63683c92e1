// Which records of a chunk, or of a batch, match a pattern. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formats/bulk.h"
#include "core/search/record_matcher.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"

namespace recordfs {

// Calls `take` with each text of a record that is searched instead of its bytes. A record without one does not match.
// Returns false to leave the record out, whether the search is inverted or not. Thread-safe.
using TextsOfRecord = std::function<Result<bool>(const ChunkInfo& chunk, Bytes record,
                                                 const std::function<void(std::string_view text)>& take)>;

// Returns whether a record is selected, as a condition on its fields decides. Thread-safe.
using SelectRecord = std::function<Result<bool>(const ChunkInfo& chunk, Bytes record)>;

struct Search {
  const RecordMatcher* matcher = nullptr;     // null: all records match
  bool is_inverted = false;                   // selects the records that do not match
  bool wants_matches = false;                 // also where they match
  std::uint64_t most = UINT64_MAX;            // selected records
  std::uint64_t largest_record = UINT64_MAX;  // bytes of a record that is searched
  TextsOfRecord texts_of{};                   // for search_chunk(); none: the bytes are searched
  SelectRecord selects{};                     // for search_chunk(); leaves the others out, whether they match or not
  OrdinalInterval indices{};                  // for search_chunk(): the records that are searched
  bool ends_at_failure = false;               // searches only the records before the first failure
};

struct FoundRecord {
  std::uint64_t index = 0;       // in its chunk
  std::vector<Match> matches{};  // in order, without empty ones; none unless wanted
  std::string text{};            // that the matches are in, if there is Search::texts_of
};

// A record that cannot be read, or whose selection cannot be decided.
struct FailedRecord {
  std::uint64_t index = 0;  // in its chunk
  Error why{};
};

struct SearchResult {
  std::vector<FoundRecord> records{};    // in order
  std::vector<FailedRecord> failures{};  // in order

  // Moves the errors of the failures out of this.
  std::vector<Error> take_errors();
};

// Searches the records of a decoded chunk.
SearchResult search_chunk(const RequestContext& context, const RecordStore& store, const ChunkInfo& info,
                          const Chunk& chunk, const Search& wanted);

// Searches records that were read together.
std::vector<FoundRecord> search_batch(const RecordBatch& batch, const Search& wanted);

}  // namespace recordfs
