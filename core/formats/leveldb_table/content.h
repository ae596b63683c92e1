// The content of a record: its value, and the keys that it changes, all from the record's bytes alone.
#pragma once

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/key_change.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_table {

// `has_database_keys`: whether keys are internal keys of a database; other keys are shown unchanged. Both fail with
// kDamage if the bytes are not a record. Any thread.
Result<Value> value_of(Bytes record, bool has_database_keys);
// `family` is the table's column family.
Result<void> change_of(Bytes record, bool has_database_keys, std::uint32_t family, const TakeKeyChange& take);

}  // namespace recordfs::leveldb_table
