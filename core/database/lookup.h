// Finds the stored writes of one key in all logs and tables of a state.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/loss.h"
#include "core/database/state.h"
#include "core/database/stored_write.h"

namespace recordfs::database {

struct StoredWrites {
  // Newest first, with deletions of ranges that contain the key. With timestamps: the largest first.
  std::vector<StoredWrite> writes;
  std::vector<Loss> losses;  // that may have cost writes of the key

  // Returns whether a newer write of the key than `write` may be lost; null: whether any may be.
  Staleness staleness_of(const StoredWrite* write) const;
};

enum class Wanted : std::uint8_t {
  // Of each file the newest write; if that is a merge operand, also older ones, up to the first other write. With
  // values.
  kFirst,
  kAll,  // all writes, without the values in tables; fails with kLimit beyond Limits::parts_per_record
};

// Fails with kUnsupported if the family has no timestamps and the snapshot is that of one, or if the database has given
// up the versions that it had then.
Result<void> check_snapshot(const FamilyView& family, const Snapshot& at);

// Returns the writes of a user's key that `at` sees. Fails with failures that may pass, and with kChanged or kIo
// if a file is gone.
Result<StoredWrites> find_writes(const RequestContext& context, const State& state, std::uint32_t family, Bytes key,
                                 const Snapshot& at, Wanted wanted);

}  // namespace recordfs::database
