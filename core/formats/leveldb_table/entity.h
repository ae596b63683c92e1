// Wide-column entities: values that consist of named columns, as RocksDB encodes them. FORMAT.md, "Entities".
#pragma once

#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_table {

struct EntityColumn {
  Bytes name;                    // empty: the default column
  Bytes value;                   // or its place in a blob file
  bool is_in_blob_file = false;  // `value` is a place
};

// Returns the columns of an entity, which are sorted by name. They are parts of `encoded`. Fails with kDamage, with
// kUnsupported for a later version or a column of an unknown type, and with kLimit if there are more columns than
// Limits::parts_per_record. Any thread.
Result<std::vector<EntityColumn>> parse_entity(Bytes encoded, const Limits& limits);

// Adds a member "columns" with the columns of an entity, [{"name", "value"}, ...], if it is valid. A column in a blob
// file has `"in_blob_file": true`, and its value is the place there. `encoded` must outlive the members. Any thread.
void add_columns(Bytes encoded, const Limits& limits, Value::Object& members);

}  // namespace recordfs::leveldb_table
