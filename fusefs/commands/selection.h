// Resolves ranges in an open container.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "fusefs/commands/range.h"

namespace recordfs {

// Consecutive records.
struct Selection {
  Span records;                        // ordinals
  std::optional<IndexedChunk> from{};  // chunk of the first record; default: the beginning

  bool is_empty() const { return records.is_empty(); }
  // Returns whether damage directly before this ordinal belongs to the selection: between selected records, or at an
  // end of the container that the selection includes.
  bool lies_inside(std::uint64_t ordinal) const {
    return (ordinal > records.begin || records.begin == 0) && ordinal < records.end;
  }
  // Returns the indices of the selected records in a chunk.
  Span within(const IndexedChunk& indexed) const;
};

// Returns all records of a container.
inline Selection everything() { return {.records = {}}; }

// Resolves a range without a scan of its own. Waits for the catalog, unless the range begins with record 0 and its end
// is not negative. Fails with kNotFound if the begin is too large, or if a single record does not exist: "no record 600
// (there are 500)". Otherwise fails as ChunkIndex::find does. For a single record, `from` is set.
Result<Selection> select(const OrdinalRange& range, const RecordStore& store);
// Finds the record at an address. Fails with kNotFound.
Result<RecordRef> find(const RecordAddress& address, const RecordStore& store);

}  // namespace recordfs
