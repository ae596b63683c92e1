// Views of a write batch as a value and as key changes. FORMAT.md, "Write batches".
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/key_change.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_log {

// Both fail with kDamage if the record is not a batch to its last byte. Any thread.

// Returns {"sequence", "count", "ops": [{"op", "tag", "sequence", "cf", "key", "value", "timestamp", "xid"}, ...]},
// without the members that an operation does not have. As parts: the list without tags, and with the end of a range as
// "end". Fails with kLimit beyond Limits::parts_per_record.
Result<Value> batch_value(Bytes record, const Limits& limits, ValueForm form);

// Passes each change to `take` in the order of the batch. Keeps nothing in memory.
Result<void> batch_changes(Bytes record, const TakeKeyChange& take);

}  // namespace recordfs::leveldb_log
