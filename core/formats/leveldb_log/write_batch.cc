#include "core/formats/leveldb_log/write_batch.h"

#include <algorithm>

namespace recordfs::leveldb_log {
namespace {

using enum KeyChangeKind;

constexpr OperationShape kShapes[] = {
    {0x00, "delete", "k", true, kDelete},
    {0x01, "put", "kv", true, kSet},
    {0x02, "merge", "kv", true, kUnknown},
    {0x03, "log_data", "v", false, {}},
    {0x04, "delete", "fk", true, kDelete},
    {0x05, "put", "fkv", true, kSet},
    {0x06, "merge", "fkv", true, kUnknown},
    {0x07, "single_delete", "k", true, kDelete},
    {0x08, "single_delete", "fk", true, kDelete},
    {0x09, "begin_prepare", "", false, kBegin},
    {0x0a, "end_prepare", "x", false, kPrepare},
    {0x0b, "commit", "x", false, kCommit},
    {0x0c, "rollback", "x", false, kRollback},
    {0x0d, "noop", "", false, {}},
    {0x0e, "delete_range", "fke", true, kDeleteRange},
    {0x0f, "delete_range", "ke", true, kDeleteRange},
    {0x10, "blob_index", "fkv", true, kUnknown},
    {0x11, "blob_index", "kv", true, kUnknown},
    {0x12, "begin_persisted_prepare", "", false, kBegin},
    {0x13, "begin_unprepare", "", false, kBegin},
    {0x15, "commit_with_timestamp", "tx", false, kCommit},
    {0x16, "put_entity", "kv", true, kSet},
    {0x17, "put_entity", "fkv", true, kSet},
    {0x18, "timed_put", "kv", true, kSet},
    {0x19, "timed_put", "fkv", true, kSet},
};

constexpr std::uint64_t kSequenceEnd = std::uint64_t{1} << 56;  // sequence numbers share 64 bits with a type

const OperationShape* find_shape(std::uint8_t tag) {
  const auto* shape = std::ranges::find(kShapes, tag, &OperationShape::tag);
  return shape == std::ranges::end(kShapes) ? nullptr : shape;
}

}  // namespace

BatchReader::BatchReader(Bytes record)
    : cursor_(record), sequence_(cursor_.u64_le()), count_(cursor_.u32_le()), next_sequence_(sequence_) {}

std::optional<Operation> BatchReader::next() {
  if (!cursor_.ok() || cursor_.at_end()) return std::nullopt;
  Operation operation{.shape = find_shape(cursor_.u8())};
  is_known_ = operation.shape != nullptr;
  if (!is_known_) {
    cursor_.fail();
    return std::nullopt;
  }
  read_fields(operation);
  if (!cursor_.ok()) return std::nullopt;
  if (operation.shape->is_counted) {
    if (!in_section_ && is_numbered_) operation.sequence = next_sequence_++;
    ++counted_;
  }
  const auto change = operation.shape->change;
  if (change == kBegin || change == kPrepare) in_section_ = change == kBegin;
  if (change == kCommit) is_numbered_ = false;
  return operation;
}

//   f  column family   k  key   v  value   e  end of a range   t  timestamp   x  transaction
void BatchReader::read_fields(Operation& operation) {
  for (const char field : operation.shape->fields) {
    switch (field) {
      case 'f': operation.family = cursor_.varint32(); break;
      case 'k': operation.key = read_string(); break;
      case 'v': operation.value = read_string(); break;
      case 'e': operation.end = read_string(); break;
      case 't': operation.timestamp = read_string(); break;
      default: operation.transaction = read_string(); break;
    }
  }
}

bool is_write_batch(Bytes record) {
  BatchReader batch(record);
  while (batch.next()) {
  }
  return batch.is_whole();
}

bool begins_write_batch(Bytes piece) {
  BatchReader batch(piece);
  while (batch.next()) {
  }
  return batch.is_cut() && batch.sequence() < kSequenceEnd;
}

bool has_rocksdb_operation(Bytes record) {
  constexpr std::uint8_t kLastOfLevelDb = 1;
  BatchReader batch(record);
  while (const auto operation = batch.next()) {
    if (operation->shape->tag > kLastOfLevelDb) return true;
  }
  return false;
}

}  // namespace recordfs::leveldb_log
