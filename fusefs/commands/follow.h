// Follows a file: takes its records, and then those that are appended.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "core/store/selection.h"
#include "fusefs/follow/growing_file.h"

namespace recordfs {

struct Following {
  std::uint64_t from = 0;  // ordinal of the first record
  int output = -1;         // descriptor; following ends when its reader has gone; -1: none
  // Takes records by ordinal. Returns false to stop.
  std::function<bool(const RecordStore& store, const OrdinalInterval& records)> take{};
  // Called when all present records were taken, before waiting. Returns false to stop.
  std::function<bool()> pause{};
  // Called once if the file was moved, removed or replaced. May be empty.
  std::function<void()> moved{};
  bool by_name = false;  // ends when another file is at the path
};

enum class FollowEnd : std::uint8_t {
  kStopped,   // by a callback, the watch, or because the output's reader has gone
  kReplaced,  // another file is at the path, and the records of this one were taken
};

// Takes all records once, in order, and waits for more. Returns why it ended. Fails as RecordStore::record_totals and
// GrowingFile::grow do.
Result<FollowEnd> follow_records(GrowingFile& file, FileWatch& watch, const Following& following);

}  // namespace recordfs
