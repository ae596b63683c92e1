// The value of a key as its engine returns it: that of its newest write, or the result of a merge.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/state.h"
#include "core/database/stored_write.h"

namespace recordfs::database {

// The writes that make the value of a key, newest first. The first is the newest visible write. If that is a merge
// operand, the older operands follow, and then the write before them, if there is one that is visible and no deletion.
using ValueWrites = std::vector<StoredWrite>;

// Takes the writes that make the value from all writes of a key, which are the newest first and include deletions of
// ranges. Empty if the key has no value.
ValueWrites value_writes_of(std::vector<StoredWrite> writes);

// Removes operands that are merged already: a compaction gives the result the number of the newest one, and the operand
// may be in an old table too, without a MANIFEST. REQUIRES: only the last write may be another one than an operand.
void drop_merged_operands(ValueWrites& writes);

// Returns the write that a lost one must be newer than to change the value; null: any lost one may change it. REQUIRES:
// !writes.empty().
inline const StoredWrite* oldest_needed(const ValueWrites& writes) {
  return is_operand(writes.back()) ? nullptr : &writes.back();
}

// Returns the error of a value that may be older than one that recordfs cannot read: kUnsupported or kLimit.
Error unread_error(Code cause);

// Returns the value of a key. For a merge that needs an operator which recordfs does not have, and for one whose
// operands may be counted twice, fails with kUnsupported. Fails otherwise like value_of(). REQUIRES: !writes.empty().
Result<Slice> key_value_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                           const FamilyView& family, const ValueWrites& writes, Bytes key);
// Returns the columns if the value is that of an entity, or merged with one; otherwise none. Fails alike.
Result<std::vector<Column>> key_columns_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                                           const FamilyView& family, const ValueWrites& writes, Bytes key);

}  // namespace recordfs::database
