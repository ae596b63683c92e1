// The content of a log's records: write batches and version edits. FORMAT.md, "Write batches" and "Version edits".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/value.h"

namespace recordfs::leveldb_log {

// How the writes of a batch get their sequence numbers.
enum class Numbering : std::uint8_t {
  kPerWrite,  // each has the next one
  // All have the same one, up to a second write of a key or the end of a batch: RocksDB's transactions that write
  // before they commit (WritePrepared and WriteUnprepared).
  kPerSubBatch,
};

// How strongly the marks in a batch tell the numbering of its database.
enum class NumberingMarks : std::uint8_t {
  kNone,
  kPerWrite,            // begin_prepare
  kPerhapsPerSubBatch,  // a noop after the last of several writes, which may also be that of an empty transaction
  kPerSubBatch,         // begin_persisted_prepare, begin_unprepare
};

struct BatchSummary {
  std::uint64_t sequence = 0;  // of the first write
  std::uint32_t count = 0;     // of writes
  NumberingMarks marks = NumberingMarks::kNone;
};

// These fail with kDamage if the record is not a batch to its last byte. Any thread.

Result<BatchSummary> summarize_batch(Bytes record);

// Returns {"sequence", "count", "ops": [{"op", "tag", "sequence", "cf", "key", "value", "timestamp", "xid"}, ...]},
// without the members that an operation does not have. As parts: the list without tags, and with the end of a range as
// "end". `numbering` is that of the log, unless the marks in the record tell another. Fails with kLimit beyond
// Limits::parts_per_record.
Result<Value> batch_value(Bytes record, const Limits& limits, ValueForm form,
                          Numbering numbering = Numbering::kPerWrite);

// Passes each change to `take` in the order of the batch. Keeps nothing in memory.
Result<void> batch_changes(Bytes record, const TakeKeyChange& take);

// One operation of a batch. Bytes point into the record.
struct BatchOperation {
  KeyChangeKind kind = KeyChangeKind::kSet;  // kUnknown also for values that are stored elsewhere
  std::uint8_t type = 0;                     // of the operation's entry in a table
  bool is_counted = false;                   // has a sequence number, unless it is in a section of a transaction
  // With kPerSubBatch, of all operations; a marker has that of the sub-batch that it begins or ends.
  std::optional<std::uint64_t> sequence{};
  std::uint32_t family = 0;
  Bytes key{};    // or the transaction's name
  Bytes value{};  // as stored; of a deletion of a range, its end
};

// Passes the operations that change keys, and the markers of transactions, to `take` in the order of the batch, while
// it returns true. Returns the number after those of the batch, as far as the record tells: the writes of a transaction
// with kPerWrite get theirs at its commit. REQUIRES: summarize_batch(record) succeeds.
std::uint64_t batch_operations(Bytes record, Numbering numbering,
                               const std::function<bool(const BatchOperation&)>& take);

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
