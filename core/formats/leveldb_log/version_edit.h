// Version edits: the records of a MANIFEST. FORMAT.md, "Version edits".
#pragma once

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_log {

// Whether `record` is an edit to its last byte. Any thread.
bool is_version_edit(Bytes record);

// Which tags a record has that tell the databases apart.
struct EditTags {
  bool is_edit = false;      // to its last byte
  bool has_leveldb = false;  // a tag that RocksDB reads but does not write
  bool has_rocksdb = false;  // a tag that LevelDB does not have
};
// Any thread.
EditTags tags_of_edit(Bytes record);

// A list of what the edit changes: {"tag", "name", and members with the names of the fields; "value" where there is but
// one}. Fails with kDamage when the record is no edit to its last byte, and with kLimit beyond
// Limits::parts_per_record. Any thread.
Result<Value> edit_value(Bytes record, const Limits& limits);

}  // namespace recordfs::leveldb_log
