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
  std::vector<StoredWrite> writes;  // newest first, with deletions of ranges that contain the key
  std::vector<Loss> losses;         // that may have cost writes of the key

  // Returns whether a newer write of the key than `write` may be lost; null: whether any may be.
  Staleness staleness_of(const StoredWrite* write) const;
};

enum class Wanted : std::uint8_t {
  // Of each file the newest write; if that is a merge operand, also older ones, up to the first other write. With
  // values.
  kFirst,
  kAll,  // all writes, without the values in tables; fails with kLimit beyond Limits::parts_per_record
};

// Returns the writes of a key that are not newer than `at`. Fails with failures that may pass, and with kChanged or kIo
// if a file is gone.
Result<StoredWrites> find_writes(const RequestContext& context, const State& state, std::uint32_t family, Bytes key,
                                 std::uint64_t at, Wanted wanted);

}  // namespace recordfs::database
