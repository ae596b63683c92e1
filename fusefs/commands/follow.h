// The records of a file, and then those that others add to it: what a command does that follows.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "fusefs/commands/range.h"
#include "fusefs/follow/file_watch.h"
#include "fusefs/follow/followed_file.h"

namespace recordfs {

struct Following {
  std::uint64_t from = 0;  // ordinal of the first record
  int output = -1;         // a descriptor: when whoever reads from it has gone, it is over; -1: nobody does
  // Takes records, by their ordinals. False: nothing more is wanted.
  std::function<bool(const RecordStore& store, const Span& records)> take{};
  // Everything that is there was taken; now it is waited for more. False: nothing more is wanted.
  std::function<bool()> pause{};
  // Told once when the file's name has gone, or is another file's.
  std::function<void()> moved{};
};

// Hands out records in their order, each once, and waits for more. Returns when nothing more is wanted, or nobody reads
// the output, or the watch was stopped. Fails as RecordStore::record_totals and FollowedFile::grow do.
Result<void> follow_records(FollowedFile& file, FileWatch& watch, const Following& following);

}  // namespace recordfs
