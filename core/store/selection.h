// Which records of an open container: ranges of ordinals, and addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// Ordinals [begin, end). Negative ones count from the end of the container. Without `end`, to the end.
struct OrdinalRange {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end{};
  bool is_one = false;               // only the record `begin`, which must exist: 42, but not 42:43
  bool may_begin_after_end = false;  // selects nothing if `begin` is larger than the number of records
  bool counts_from_end() const { return begin < 0 || end.value_or(0) < 0; }
  bool operator==(const OrdinalRange&) const = default;
};

// The record with this index in the chunk that begins at a byte, of a shard of a data set.
struct RecordAddress {
  Position begin = 0;
  std::uint64_t index = 0;
  std::string shard{};  // as in DataSet::find_shard(); empty: the only one
  bool operator==(const RecordAddress&) const = default;
};

// A range with begin <= end. `end` may exceed the number of records if they were not counted.
struct OrdinalInterval {
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
  bool is_empty() const { return begin == end; }
};

// Resolves negative bounds, and waits for the scan if there are any. Fails as ChunkIndex::totals does.
Result<OrdinalInterval> resolve(const OrdinalRange& range, const RecordStore& store);

// Consecutive records.
struct Selection {
  OrdinalInterval records{};           // ordinals
  std::optional<IndexedChunk> from{};  // chunk of the first record; default: the beginning

  bool is_empty() const { return records.is_empty(); }
  // Returns whether damage directly before this ordinal belongs to the selection: between selected records, or at an
  // end of the container that the selection includes.
  bool lies_inside(std::uint64_t ordinal) const {
    return (ordinal > records.begin || records.begin == 0) && ordinal < records.end;
  }
  // Return the indices of the selected records in a chunk, and among `count` records from the ordinal `first` on.
  OrdinalInterval within(const IndexedChunk& indexed) const {
    return within(indexed.before.records, indexed.after().records - indexed.before.records);
  }
  OrdinalInterval within(std::uint64_t first, std::uint64_t count) const;
};

// Returns the bounds of a range among `records`, as resolve() does.
OrdinalInterval span_of(const OrdinalRange& range, std::uint64_t records);
// Returns "no record 600 (there are 500)".
Error no_record(const OrdinalRange& range, std::uint64_t records);

// Resolves a range without a scan of its own. Waits for the catalog, unless the range begins with record 0 and its end
// is not negative. Fails with kNotFound if the begin is too large and must not be, or if a single record does not
// exist: "no record 600 (there are 500)". Otherwise fails as ChunkIndex::find does. For a single record, `from` is set.
Result<Selection> select(const OrdinalRange& range, const RecordStore& store);
// Finds the record at an address. Fails with kNotFound.
Result<RecordRef> find(const RequestContext& context, const RecordAddress& address, const RecordStore& store);

}  // namespace recordfs
