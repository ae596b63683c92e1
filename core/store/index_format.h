// The bytes of a saved index. SAVED_INDEX.md describes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/saved_index.h"

namespace recordfs {

// Bytes of what precedes the tables, with its checksum.
inline constexpr std::size_t kIndexHeadSize = 16 + 64 + 8 + 40 + 40 + 8;

// What precedes the tables.
struct IndexHead {
  bool sizes_known = false;
  IndexKey key{};
  std::uint64_t stride = 0;
  PrefixSums totals{};
  struct {
    std::uint64_t anchors = 0;
    std::uint64_t rows = 0;
    std::uint64_t cached_sizes = 0;
    std::uint64_t places = 0;
    std::uint64_t bytes_of_places = 0;
  } tables{};
};

// Decodes the head, which other bytes may follow. Fails as decode_index().
Result<IndexHead> decode_index_head(Bytes bytes);

}  // namespace recordfs
