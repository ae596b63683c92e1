// Write batches: the records of a write-ahead log. FORMAT.md, "Write batches".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/formats/key_change.h"

namespace recordfs::leveldb_log {

// The layout and meaning of a tag.
struct OperationShape {
  std::uint8_t tag;
  std::string_view name;
  std::string_view fields;  // one letter per field, in file order: see BatchReader::read_fields()
  bool is_counted;          // in the batch's count and in sequence numbers
  std::optional<KeyChangeKind> change;
};

// One operation. Absent fields are nullopt. Bytes point into the record.
struct Operation {
  const OperationShape* shape = nullptr;
  std::optional<std::uint32_t> family{};
  std::optional<Bytes> key{};
  std::optional<Bytes> value{};
  std::optional<Bytes> end{};  // of a range
  std::optional<Bytes> timestamp{};
  std::optional<Bytes> transaction{};
  // Unset inside a prepared section, and after a commit, which takes as many numbers as operations were prepared.
  std::optional<std::uint64_t> sequence{};
};

// Reads the operations of a batch in order. One thread.
class BatchReader {
 public:
  explicit BatchReader(Bytes record);

  std::uint64_t sequence() const { return sequence_; }
  std::uint32_t count() const { return count_; }

  // Returns nullopt after the last one, and at the first invalid byte.
  std::optional<Operation> next();

  // After next() returned nullopt: whether the record was a batch to its last byte, with as many operations as its
  // count.
  bool is_whole() const { return cursor_.ok() && cursor_.at_end() && counted_ == count_; }
  // Likewise: whether it may be a batch whose end is missing.
  bool is_cut() const { return is_known_ && counted_ < count_; }

 private:
  void read_fields(Operation& operation);
  Bytes read_string() { return cursor_.take(cursor_.varint32()); }

  Cursor cursor_;
  std::uint64_t sequence_;
  std::uint32_t count_;
  std::uint32_t counted_ = 0;
  std::uint64_t next_sequence_;
  bool is_known_ = true;     // all tags so far
  bool in_section_ = false;  // of a transaction being prepared
  bool is_numbered_ = true;  // no commit so far
};

// Returns whether `record` is a batch to its last byte. Any thread.
bool is_write_batch(Bytes record);

// Returns whether `piece` may be the beginning of a longer batch. Any thread.
bool begins_write_batch(Bytes piece);

// Whether a batch, or the beginning of one, has an operation that LevelDB does not have. Any thread.
bool has_rocksdb_operation(Bytes record);

}  // namespace recordfs::leveldb_log
