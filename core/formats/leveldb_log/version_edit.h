// Version edits, the records of MANIFESTs. FORMAT.md, "Version edits".
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_log {

// Internal keys in an edit: as bytes, or as {"key", "sequence", "type"}.
enum class EditKeys : std::uint8_t { kStored, kSplit };

// Returns a list of the edit's changes: {"tag", "name", and the fields by name, or "value" if there is only one}. The
// list of an empty record is empty.
// Fails with kDamage if the record is not an edit to its last byte, and with kLimit beyond Limits::parts_per_record.
// Any thread.
Result<Value> edit_value(Bytes record, const Limits& limits, EditKeys keys = EditKeys::kStored);

// Which database wrote an edit, as far as its tags show it. All false for a record that is not an edit.
struct EditTags {
  bool is_edit = false;          // to its last byte, and not empty: an empty record is no evidence for an edit
  bool has_leveldb_tag = false;  // a tag that RocksDB reads but does not write
  bool has_rocksdb_tag = false;  // a tag that LevelDB does not have
};

// Any thread.
EditTags tags_of_edit(Bytes record);

}  // namespace recordfs::leveldb_log
