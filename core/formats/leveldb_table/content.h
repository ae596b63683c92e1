// What a record says: its parts, its value, and what it changes. All told from the record's bytes alone.
#pragma once

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/key_change.h"
#include "core/formats/part.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_table {

// `has_database_keys`: whether keys are those of a database; otherwise they are shown as they stand. All three fail
// with kDamage when the bytes are no record. Any thread.
Result<Parts> parts_of(Bytes record, bool has_database_keys);
Result<Value> value_of(Bytes record, bool has_database_keys);
// `family` is the table's column family.
Result<void> change_of(Bytes record, bool has_database_keys, std::uint32_t family, const TakeKeyChange& take);

}  // namespace recordfs::leveldb_table
