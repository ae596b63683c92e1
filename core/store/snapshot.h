// What a catalog has measured and what it needs to go on: its content without threads and locks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/formats/container.h"
#include "core/store/indexed_chunk.h"
#include "core/store/scanner.h"

namespace recordfs {

// A place in the scan from which it can go on, and what stands before.
struct Anchor {
  ChunkKey key;
  PrefixSums before;
};

// Of a scan that is over.
struct CatalogSnapshot {
  std::uint64_t stride = 0;  // chunks from one anchor to the next
  std::vector<Anchor> anchors;
  PrefixSums totals;
  bool sizes_known = true;
  std::vector<DamageRow> damage;
  std::vector<CachedSizes> cached_sizes;  // of the chunks from the first on
};

}  // namespace recordfs
