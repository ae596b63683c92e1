// Version edits, the records of MANIFESTs. FORMAT.md, "Version edits".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_log {

inline constexpr std::uint32_t kNewFileOfLevelDb = 7;  // a tag; RocksDB writes 100 and above for new files
inline constexpr std::uint32_t kLastTagOfLevelDb = 9;  // larger tags are RocksDB's

enum class ChangeKind : std::uint8_t {
  kComparator,
  kLogNumber,
  kNextFileNumber,
  kLastSequence,
  kDeletedTable,
  kNewTable,
  kPreviousLog,
  kLeastLogToKeep,
  kFamily,  // the column family of the edit
  kNewFamily,
  kDroppedFamily,
  kLargestFamily,
  kAtomicGroup,
  kNewBlobFile,
  kBlobGarbage,
  kDatabaseId,
  kNewLog,
  kDeletedLogs,
  kSkippableNewLog,       // the same as kNewLog, as a string that earlier readers can skip
  kSkippableDeletedLogs,  // likewise
  kLeastTimestamp,
  kPersistsTimestamps,  // of the column family: whether tables have the user-defined timestamps of its keys
  kOther,               // does not affect the state; or unknown, and may be skipped
};

// One change of an edit. Fields that its tag does not have are 0 or empty. Points into the record.
struct Change {
  ChangeKind kind = ChangeKind::kOther;
  std::uint32_t tag = 0;  // as stored
  // The only field of most kinds: a number, or a string.
  std::uint64_t value = 0;
  Bytes text{};
  // Of a table, a log or a blob file.
  std::uint64_t number = 0;
  std::uint64_t level = 0, path = 0, size = 0;
  Bytes smallest{}, largest{};                                // internal keys
  std::uint64_t smallest_sequence = 0, largest_sequence = 0;  // not with the tag kNewFileOfLevelDb
  std::uint64_t blobs = 0, blob_bytes = 0;
  Bytes checksum_function{}, checksum{};
  Bytes custom{};  // additional fields: pairs of a tag and a string; in kNewLog, of a tag and a number

  // Return the additional field with this tag; nullopt or 0 if it is absent.
  std::optional<Bytes> custom_text(std::uint32_t tag_of_pair) const;
  std::uint64_t custom_number(std::uint32_t tag_of_pair) const;
};

using Edit = std::vector<Change>;

// Returns the changes of an edit, in order; none for an empty record: RocksDB writes edits without a change. Fails with
// kDamage if the record is not an edit to its last byte, and with kLimit beyond Limits::parts_per_record. Any thread.
Result<Edit> parse_edit(Bytes record, const Limits& limits);

// Passes the changes of an edit to `take`, in order, and keeps nothing in memory. Fails with kDamage if the record is
// not an edit to its last byte, after the changes before that place, and as `take`, which ends it. Any thread.
Result<void> visit_edit(Bytes record, const std::function<Result<void>(const Change&)>& take);

// Returns a list of the edit's changes: {"tag", "name", and the fields by name, or "value" if there is only one}, with
// internal keys as {"key", "sequence", "type"}. Fails as parse_edit(). Any thread.
Result<Value> edit_value(Bytes record, const Limits& limits);

}  // namespace recordfs::leveldb_log
