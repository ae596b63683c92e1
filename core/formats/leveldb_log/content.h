// The content of a log's records: write batches and version edits. FORMAT.md, "Write batches" and "Version edits".
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_log {

// Both fail with kDamage if the record is not a batch to its last byte. Any thread.

// Returns {"sequence", "count", "ops": [{"op", "tag", "sequence", "cf", "key", "value", "timestamp", "xid"}, ...]},
// without the members that an operation does not have. As parts: the list without tags, and with the end of a range as
// "end". Fails with kLimit beyond Limits::parts_per_record.
Result<Value> batch_value(Bytes record, const Limits& limits, ValueForm form);

// Passes each change to `take` in the order of the batch. Keeps nothing in memory.
Result<void> batch_changes(Bytes record, const TakeKeyChange& take);

// One operation of a batch. Bytes point into the record.
struct BatchOperation {
  KeyChangeKind kind = KeyChangeKind::kSet;  // kUnknown also for values that are stored elsewhere
  std::uint8_t type = 0;                     // of the operation's entry in a table
  bool is_counted = false;                   // has a sequence number, unless it is in a section of a transaction
  std::uint32_t family = 0;
  Bytes key{};    // or the transaction's name
  Bytes value{};  // as stored; of a deletion of a range, its end
};

// Returns the sequence number of the first counted operation of a batch. Fails with kDamage if the record is too short.
Result<std::uint64_t> batch_sequence(Bytes record);

// Passes the operations that change keys, and the markers of transactions, to `take` in the order of the batch, while
// it returns true.
Result<void> batch_operations(Bytes record, const std::function<bool(const BatchOperation&)>& take);

// Internal keys in an edit: as bytes, or as {"key", "sequence", "type"}.
enum class EditKeys : std::uint8_t { kStored, kSplit };

// Returns a list of the edit's changes: {"tag", "name", and the fields by name, or "value" if there is only one}. The
// list of an empty record is empty.
// Fails with kDamage if the record is not an edit to its last byte, and with kLimit beyond Limits::parts_per_record.
// Any thread.
Result<Value> edit_value(Bytes record, const Limits& limits, EditKeys keys = EditKeys::kStored);

inline constexpr std::string_view kWriteAheadLog = "write-ahead log";
inline constexpr std::string_view kManifest = "manifest";

// Returns kWriteAheadLog if `record` is a write batch to its last byte, kManifest if it is a version edit, "opaque"
// otherwise. Of the first piece of a longer record, returns kWriteAheadLog or "unknown". Static storage. FORMAT.md,
// "Content". Any thread.
std::string_view content_of(Bytes record, bool is_whole = true);

// Which database wrote a record, as far as its tags show it. A higher value is stronger evidence.
enum class Writer : std::uint8_t { kEither, kLevelDb, kRocksDb };

// The word for it in info.json. Static storage.
std::string_view to_string(Writer writer);

// Returns kRocksDb if the record, or its first piece, has a tag that only RocksDB writes, and kLevelDb if it has one
// that only LevelDB writes. Returns kEither for a record that is not of this content, and for a piece of an edit. Any
// thread.
Writer writer_of(Bytes record, bool is_whole, std::string_view content);

}  // namespace recordfs::leveldb_log
