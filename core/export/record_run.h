// Consecutive records of a chunk that become text or rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formats/chunk.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"

namespace recordfs {

// Why records have no result.
struct RecordsFailure {
  Error why;
  std::uint64_t records = 1;
  bool is_unfit = false;  // the record can be read, but is no row of the output
};

// What failed while results of records were made.
struct RecordRun {
  std::vector<RecordsFailure> failures{};      // not logged yet
  bool is_over = false;                        // a failure ends the job
  OrdinalInterval rest{.begin = 0, .end = 0};  // indices of records without a result, because there was no more room

  // Adds a failure, which ends the job unless damage is skipped.
  void fail(RecordsFailure failure, bool skips_damage);
};

// How records of a chunk are read.
struct RunReading {
  const RecordStore& store;
  const Chunk& chunk;
  std::uint64_t bytes;  // of small records that are read together
  bool skips_damage;
};

// Calls `take` with the indices of records that can be read, as far as the layout tells, and that together have at most
// `reading.bytes` bytes unless it is one. Adds the failures of the others to `run`. Ends when `goes_on` returns false.
// If `has_room` returns false, the records from there on are the rest of `run`.
void each_readable(const RunReading& reading, OrdinalInterval which, RecordRun& run,
                   const std::function<bool()>& goes_on, const std::function<bool()>& has_room,
                   const std::function<void(OrdinalInterval readable)>& take);

// Calls `take` with the index and the bytes of each of these records, until `goes_on` returns false. Adds failures to
// read them to `run`.
template <class GoesOn, class Take>
void read_each(const RequestContext& context, const RunReading& reading, OrdinalInterval readable, RecordRun& run,
               const GoesOn& goes_on, const Take& take) {
  const Layout& layout = reading.chunk.layout();
  const Extent front = layout.extent(readable.begin);
  const Extent back = layout.extent(readable.end - 1);
  auto bytes = reading.store.chunks().read(context, reading.chunk, front.begin, back.begin + back.size - front.begin);
  if (!bytes && readable.end - readable.begin == 1) {
    return run.fail({.why = std::move(bytes).error()}, reading.skips_damage);
  }
  for (std::uint64_t i = readable.begin; i < readable.end && goes_on(); ++i) {
    if (!bytes) {  // those before the failing one may be readable
      read_each(context, reading, {.begin = i, .end = i + 1}, run, goes_on, take);
      continue;
    }
    const Extent extent = layout.extent(i);
    take(i, bytes->bytes.subspan(static_cast<std::size_t>(extent.begin - front.begin),
                                 static_cast<std::size_t>(extent.size)));
  }
}

}  // namespace recordfs
