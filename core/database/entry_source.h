// Sorted writes of a family, from logs or from a run of tables, for a merge of several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/database/loss.h"
#include "core/database/state.h"
#include "core/database/stored_write.h"
#include "core/database/table.h"

namespace recordfs::database {

// The deletions of ranges that contain a key.
struct DeletionsOver {
  std::optional<std::uint64_t> newest{};  // its sequence number; nullopt: there is none
  // If `newest` is empty: the first later user key that a deletion may cover; nullopt: none does.
  std::optional<Bytes> until{};
};

// One thread. The state must outlive it. Functions that read fail with failures that may pass, and with kChanged or kIo
// if a file is gone; then a new source has to be made.
class EntrySource {
 public:
  virtual ~EntrySource() = default;

  // Moves to the first write of a key at or after `key`; nullopt: to the first one of all.
  virtual Result<void> seek(const RequestContext& context, std::optional<Bytes> key) = 0;
  virtual Result<void> next(const RequestContext& context) = 0;
  virtual bool is_valid() const = 0;

  // Of the current write. REQUIRES: is_valid().
  virtual Bytes key() const = 0;          // as stored; valid until the next move
  virtual std::uint64_t tag() const = 0;  // sequence << 8 | type
  virtual StoredWrite write() const = 0;

  // Returns the deletions of ranges that contain a user's key and that `at` sees. `until` is valid as long as the state
  // or `key`. REQUIRES: keys do not decrease from call to call, nor from seek().
  virtual Result<DeletionsOver> deletions_over(const RequestContext& context, Bytes key, const Snapshot& at) = 0;
  // Returns the sequence number of the newest deletion of a range without effect, in the logs or in the tables that
  // were opened so far; 0 if there is none.
  virtual std::uint64_t newest_ineffective() const = 0;
};

// Receives a lost part of a table.
using TakeTableLoss = std::function<void(Loss loss)>;

std::unique_ptr<EntrySource> source_of_logs(const State& state, const FamilyView& family);
// `run` must outlive the source. Damage, and a table or block for which `memory` has no room, is reported to the state,
// and passed to `take_loss`.
std::unique_ptr<EntrySource> source_of_run(const State& state, const FamilyView& family, const Run& run,
                                           TakeTableLoss take_loss, std::shared_ptr<MemoryBudget> memory);

}  // namespace recordfs::database
