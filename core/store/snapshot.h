// What a catalog has learnt and what it needs to go on: its content without threads and locks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/formats/container.h"
#include "core/store/place.h"
#include "core/store/walk.h"

namespace recordfs {

// A place in the walk from which it can go on, and what stands before.
struct Anchor {
  ChunkKey key;
  Totals before;
};

// Of a walk that is over.
struct CatalogSnapshot {
  std::uint64_t stride = 0;  // chunks from one anchor to the next
  std::vector<Anchor> anchors;
  Totals totals;
  bool sizes_known = true;
  std::vector<DamageRow> damage;
  std::vector<Learnt> learnt;  // of the chunks from the first on
};

}  // namespace recordfs
