// Version edits: the records of a MANIFEST. FORMAT.md, "Version edits".
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_log {

// Returns whether `record` is an edit to its last byte. Any thread.
bool is_version_edit(Bytes record);

// The tags of a record that distinguish LevelDB from RocksDB.
struct EditTags {
  bool is_edit = false;      // to its last byte
  bool has_leveldb = false;  // a tag that RocksDB reads but does not write
  bool has_rocksdb = false;  // a tag that LevelDB does not have
};
// Any thread.
EditTags tags_of_edit(Bytes record);

// Returns a list of the edit's changes: {"tag", "name", and the fields by name, or "value" if there is only one}.
// Fails with kDamage if the record is not an edit to its last byte, and with kLimit beyond Limits::parts_per_record.
// Any thread.
Result<Value> edit_value(Bytes record, const Limits& limits);

}  // namespace recordfs::leveldb_log
