// A write of a key as a table or a log stores it, and what it means to a user.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/entry.h"
#include "core/database/logged_writes.h"
#include "core/database/loss.h"
#include "core/database/state.h"

namespace recordfs::database {

struct StoredWrite {
  std::uint64_t sequence = 0;
  std::uint8_t type = 0;
  Age age{};
  std::string file{};
  std::uint64_t stored_size = 0;             // of the value as stored
  Slice value{};                             // as stored, of a write in a table
  const LoggedWrite* logged = nullptr;       // a write in a log, whose value is there
  std::optional<std::uint64_t> timestamp{};  // user-defined; nullopt: none, or not stored
  std::string merge_operator{};              // of an operand in a table: the operator's name; empty: not stated
};

inline bool is_operand(const StoredWrite& write) { return operation_of(write.type) == Operation::kMerge; }

// Returns a write of a live log. `order` is that of its family.
StoredWrite write_of(const LoggedWrites& logged, const LoggedWrite& write, const KeyOrder& order);

// Returns whether the size of such a write's value is stored in its value, so that version_of() needs that.
bool has_size_in_value(std::uint8_t type);
// Returns what a user sees of a write. `staleness`: whether a newer one may be lost.
Version version_of(const StoredWrite& write, const Staleness& staleness);

// Returns the value of a write; of an entity, that of its default column. Fails with kUnsupported for an unknown type,
// with kDamage and kNotFound if its blob file is damaged or missing, with kChanged if its log is gone, and as Source.
// The slice is valid without the state.
Result<Slice> value_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                       const StoredWrite& write, Bytes key);
// Returns the columns of an entity by name; none for other writes. Fails like value_of().
Result<std::vector<Column>> columns_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                                       const StoredWrite& write, Bytes key);

// Opens the file that has the value, if that is another one than the write's own table, and lets State::open_files()
// keep it. Fails with kIo if the file is gone.
Result<void> open_value(const State& state, const StoredWrite& write);

}  // namespace recordfs::database
