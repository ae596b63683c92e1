// The lines of recordfs ls.
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
    bool with_codec = false;  // and more of the chunk
  };

  explicit ListingRows(const Options& options) : options_(options) {}

  // The line of the chunk's record at an index, whose size is known or why it can't be read. `is_counted`: the place
  // knows how many records stand before it.
  std::string of_record(const IndexedChunk& indexed, std::uint64_t index, bool is_counted,
                        const Result<std::uint64_t>& size) const;
  // The line of a chunk: the row of index/chunks.tsv.
  std::string of_chunk(const IndexedChunk& indexed) const;

 private:
  std::string json_of_record(const IndexedChunk& indexed, std::uint64_t index, bool is_counted,
                             const Result<std::uint64_t>& size) const;

  const Options options_;
};

}  // namespace recordfs
