// The content of a log's records: write batches and version edits. FORMAT.md, "Write batches" and "Version edits".
#pragma once

#include <cstdint>
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

// Returns a list of the edit's changes: {"tag", "name", and the fields by name, or "value" if there is only one}.
// Fails with kDamage if the record is not an edit to its last byte, and with kLimit beyond Limits::parts_per_record.
// Any thread.
Result<Value> edit_value(Bytes record, const Limits& limits);

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
