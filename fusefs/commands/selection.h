// What a range selects of an open container, and where the scan begins that meets it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "fusefs/commands/range.h"

namespace recordfs {

// A run of records in the container's order.
struct Selection {
  Span records;  // ordinals
  std::optional<IndexedChunk>
      from{};  // the chunk that holds the first of them; without it a scan begins at the beginning

  bool is_empty() const { return records.begin == records.end; }
  // Whether what stands in front of the record of an ordinal lies between records that are selected, or before the
  // first or behind the last record of the container when that is.
  bool lies_inside(std::uint64_t ordinal) const {
    return (ordinal > records.begin || records.begin == 0) && ordinal < records.end;
  }
  // The indices of the chunk's records that are selected.
  Span within(const IndexedChunk& indexed) const;
};

// All records of a container.
inline Selection everything() { return {.records = {}}; }

// Finds the beginning of a range without a scan; waits for the catalog unless the range begins with record 0. As with
// slices an end behind the end is cut; a begin behind the end is kNotFound: "no record 600 (there are 500)". Fails as
// RecordStore::chunk_by_ordinal does.
Result<Selection> select(const OrdinalRange& range, const RecordStore& store);
// The one record that `range` names: it has to be there. The selection has `from`.
Result<Selection> select_one(const OrdinalRange& range, const RecordStore& store);
// The record at an address. kNotFound where there is none.
Result<RecordRef> find(const RecordAddress& address, const RecordStore& store);

}  // namespace recordfs
