// Splits of a file: [begin, end) of its bytes. A split owns the chunks that begin in it, so splits that cover the file
// have each record once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

struct Split {
  Position begin = 0;
  Position end = UINT64_MAX;
  bool owns(Position at) const { return at >= begin && at < end; }
  bool operator==(const Split&) const = default;
};

// "65536:131072"; either may be left out for the file's begin or end. nullopt for anything else.
std::optional<Split> parse_split(const std::string& text);

// Where a scan begins that meets the split's chunks, found without a scan where the container has a seek structure;
// nullopt: at the container's beginning. Its sums are not those of the place. Fails as RecordStore::chunk_covering
// does. REQUIRES: the container is in file order.
Result<std::optional<IndexedChunk>> start_of(const Split& split, const RecordStore& store);

// What begins in a split, sorted by where it does: for a container that is not in file order, of which all headers are
// read. Fails as Scanner::step does.
struct SplitContent {
  std::vector<IndexedChunk> chunks;
  std::vector<DamagedRegion> damage;
};
Result<SplitContent> content_of(const Split& split, const RecordStore& store);

}  // namespace recordfs
