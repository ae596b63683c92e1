// Write batches, the records of write-ahead logs. FORMAT.md, "Write batches".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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
  // If the batch has only writes of one family that the caller does not want: the family.
  std::optional<std::uint32_t> unwanted_family{};
};

// Returns whether the caller wants a write. `type`: as in BatchOperation.
using WantsWrite = std::function<bool(std::uint8_t type, Bytes key)>;

// These fail with kDamage if the record is not a batch to its last byte. Any thread.

// `wants`: null if the caller wants all writes.
Result<BatchSummary> summarize_batch(Bytes record, const WantsWrite& wants = nullptr);

// Returns {"sequence", "count", "ops": [{"op", "tag", "sequence", "cf", "key", "value", "timestamp", "xid"}, ...]},
// without the members that an operation does not have. As parts: the list without tags, and with the end of a range as
// "end". `numbering` is that of the log, unless the marks in the record tell another. Fails with kLimit beyond
// Limits::parts_per_record.
Result<Value> batch_value(Bytes record, const Limits& limits, ValueForm form,
                          Numbering numbering = Numbering::kPerWrite);

// Passes the kind of each change to `take` in the order of the batch. Keeps nothing in memory.
Result<void> batch_changes(Bytes record, const TakeChangeKind& take);

// One operation of a batch. Bytes point into the record.
struct BatchOperation {
  KeyChangeKind kind = KeyChangeKind::kSet;  // kUnknown also for values that are stored elsewhere
  std::uint8_t type = 0;                     // of the operation's entry in a table
  bool is_counted = false;                   // has a sequence number, unless it is in a section of a transaction
  // With kPerSubBatch, of all operations; a marker has that of the sub-batch that it begins or ends.
  std::optional<std::uint64_t> sequence{};
  std::uint32_t family = 0;
  Bytes key{};  // or the transaction's name
  Bytes
      value{};  // as stored; of a deletion of a range, its end; of a commit, the timestamp of its writes, if it has one
};

// Passes the operations that change keys, and the markers of transactions, to `take` in the order of the batch, while
// it returns true. Returns the number after those of the batch, as far as the record tells: the writes of a transaction
// with kPerWrite get theirs at its commit. REQUIRES: summarize_batch(record) succeeds.
std::uint64_t batch_operations(Bytes record, Numbering numbering,
                               const std::function<bool(const BatchOperation&)>& take);

// Returns whether `record` is a batch to its last byte. Any thread.
bool is_write_batch(Bytes record);

// Returns whether `piece` may be the beginning of a longer batch. Any thread.
bool begins_write_batch(Bytes piece);

// Returns whether a batch, or the beginning of one, has an operation that LevelDB does not have. Any thread.
bool has_rocksdb_operation(Bytes record);

// Returns the name of the operation whose entries in a table have this type. Any thread.
std::string name_of_type(std::uint8_t type);

}  // namespace recordfs::leveldb_log
