// Splits of a file by bytes, [begin, end). A split owns the chunks that begin in it, so splits that cover the file have
// each record once.
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

// Parses "65536:131072". An omitted bound is that of the file. Returns nullopt if it is invalid.
std::optional<Split> parse_split(const std::string& text);

// Returns where to start scanning for the split's chunks, found by the container's seek structure. nullopt: at the
// beginning. The sums in the result are invalid. Fails as RecordStore::chunk_covering does. REQUIRES: the container is
// in file order.
Result<std::optional<IndexedChunk>> start_of(const Split& split, const RecordStore& store);

// Chunks and damage that begin in a split, sorted by position. For containers that are not in file order. Reads all
// headers. Fails as Scanner::step does.
struct SplitContent {
  std::vector<IndexedChunk> chunks;
  std::vector<DamagedRegion> damage;
};
Result<SplitContent> content_of(const Split& split, const RecordStore& store);

}  // namespace recordfs
