// Finds the stored writes of one key in all logs and tables of a state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/loss.h"
#include "core/database/state.h"

namespace recordfs::database {

// A write as it was found.
struct StoredWrite {
  std::uint64_t sequence = 0;
  std::uint8_t type = 0;
  Age age{};
  std::string file{};
  std::uint64_t stored_size = 0;        // of the value as stored
  Slice value{};                        // as stored, of a write in a table
  const LoggedWrite* logged = nullptr;  // a write in a log, whose value is there
};

struct StoredWrites {
  std::vector<StoredWrite> writes;  // newest first, with deletions of ranges that contain the key
  std::vector<Loss> losses;         // that may have cost writes of the key

  // Returns whether a newer write of the key than `write` may be lost.
  bool may_be_stale(const StoredWrite& write) const;
};

enum class Wanted : std::uint8_t {
  kFirst,  // of each file the newest write, with its value
  kAll,    // all writes, without the values in tables; fails with kLimit beyond Limits::parts_per_record
};

// Returns the writes of a key that are not newer than `at`. Fails with failures that may pass, and with kChanged or kIo
// if a file is gone.
Result<StoredWrites> find_writes(const RequestContext& context, const State& state, std::uint32_t family, Bytes key,
                                 std::uint64_t at, Wanted wanted);

// Returns what a user sees of a write. `stale`: whether a newer one may be lost.
Version version_of(const StoredWrite& write, bool stale);

// Returns the value of a write. Fails with kUnsupported for an unknown type, with kDamage and kNotFound if its blob
// file is damaged or missing, with kChanged if its log is gone, and as Source. The slice is valid without the state.
Result<Slice> value_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                       const StoredWrite& write, Bytes key);

// Opens the file that has the value, if that is another one than the write's own table, and lets State::open_files()
// keep it. Fails with kIo if the file is gone.
Result<void> open_value(const State& state, const StoredWrite& write);

}  // namespace recordfs::database
