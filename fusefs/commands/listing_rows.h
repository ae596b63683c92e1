// Formats the lines of recordfs ls.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/store/indexed_chunk.h"

namespace recordfs {

class ListingRows {
 public:
  struct Options {
    bool is_json = false;
    bool is_aligned = false;  // columns for people; otherwise tabs
    bool with_codec = false;  // and the chunk's kind and end
  };

  explicit ListingRows(const Options& options) : options_(options) {}

  // Returns the line of a record. `size`: its size, or why it cannot be read. `is_counted`: indexed.before is valid.
  std::string of_record(const IndexedChunk& indexed, std::uint64_t index, bool is_counted,
                        const Result<std::uint64_t>& size) const;
  // Returns the line of a chunk, as in index/chunks.tsv.
  std::string of_chunk(const IndexedChunk& indexed) const;

 private:
  std::string json_of_record(const IndexedChunk& indexed, std::uint64_t index, bool is_counted,
                             const Result<std::uint64_t>& size) const;

  const Options options_;
};

}  // namespace recordfs
