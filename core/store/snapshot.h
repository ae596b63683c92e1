// The results of a catalog, without its threads and locks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/formats/container.h"
#include "core/store/indexed_chunk.h"
#include "core/store/scanner.h"

namespace recordfs {

// A place from which a scan can continue, with the sums before it.
struct Anchor {
  ChunkKey key;
  PrefixSums before;
};

// The results of a complete scan.
struct CatalogSnapshot {
  std::uint64_t stride = 0;  // chunks from one anchor to the next
  std::vector<Anchor> anchors;
  PrefixSums totals;
  bool sizes_known = true;
  std::vector<DamageRow> damage;
  std::vector<CachedSizes> cached_sizes;  // of the first chunks
};

}  // namespace recordfs
