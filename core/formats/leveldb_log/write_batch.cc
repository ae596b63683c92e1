#include "core/formats/leveldb_log/write_batch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/formats/leveldb_table/entity.h"
#include "core/hash/highway.h"

namespace recordfs::leveldb_log {
namespace {

// The layout and meaning of a tag.
struct OperationShape {
  std::uint8_t tag;
  std::string_view name;
  std::string_view fields;  // one letter per field, in file order: see BatchReader::read_fields()
  bool is_counted;          // in the batch's count and in sequence numbers
  std::optional<KeyChangeKind> change;
};

// One operation. Bytes point into the record.
struct Operation {
  const OperationShape* shape = nullptr;
  std::uint32_t family = 0;
  Bytes key{};
  Bytes value{};
  Bytes end{};  // of a range
  Bytes timestamp{};
  Bytes transaction{};
  // Unset inside a prepared section, and after a commit, which takes as many numbers as operations were prepared.
  std::optional<std::uint64_t> sequence{};

  // Returns whether it has a field, by its letter.
  bool has(char field) const { return shape->fields.find(field) != std::string_view::npos; }
};

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

constexpr std::uint8_t kBeginPrepare = 0x09;
constexpr std::uint8_t kNoop = 0x0d;
constexpr std::uint8_t kBeginPersistedPrepare = 0x12;
constexpr std::uint8_t kBeginUnprepare = 0x13;

constexpr std::uint64_t kSequenceEnd = std::uint64_t{1} << 56;  // sequence numbers share 64 bits with a type

const OperationShape* find_shape(std::uint8_t tag) {
  static constexpr auto kByTag = [] {
    std::array<const OperationShape*, UINT8_MAX + 1> by_tag{};
    for (const OperationShape& shape : kShapes) by_tag[shape.tag] = &shape;
    return by_tag;
  }();
  return kByTag[tag];
}

// The keys of a sub-batch.
class SubBatch {
 public:
  // Returns whether the sub-batch has a write of the key already. Of a sub-batch with very many keys, only the last
  // ones are remembered.
  bool has_or_add(const Operation& operation) {
    constexpr std::size_t kMostKeys = 1u << 21;
    constexpr std::uint64_t kOfRange = std::uint64_t{1} << 63;  // deletions of ranges are kept apart
    if (keys_.size() == kMostKeys) keys_.clear();
    const std::uint64_t place = operation.family | (operation.has('e') ? kOfRange : 0);
    return !keys_.insert(highway_hash(operation.key) + place * kSpread).second;
  }
  void clear() { keys_.clear(); }

 private:
  static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  std::unordered_set<std::uint64_t> keys_;  // hashes
};

// Reads the operations of a batch in order. One thread.
class BatchReader {
 public:
  explicit BatchReader(Bytes record, Numbering numbering = Numbering::kPerWrite)
      : cursor_(record),
        numbering_(numbering),
        sequence_(cursor_.u64_le()),
        count_(cursor_.u32_le()),
        next_sequence_(sequence_) {}

  std::uint64_t sequence() const { return sequence_; }
  std::uint32_t count() const { return count_; }
  std::uint64_t next_sequence() const { return next_sequence_; }
  // After next() returned null.
  NumberingMarks marks() const {
    return marks_ == NumberingMarks::kNone && ends_with_noop_ && counted_ > 1 ? NumberingMarks::kPerhapsPerSubBatch
                                                                              : marks_;
  }

  // Returns null after the last one, and at the first invalid byte. Valid until the next call.
  const Operation* next() {
    if (!cursor_.ok() || cursor_.at_end()) return nullptr;
    operation_ = {.shape = find_shape(cursor_.u8())};
    is_known_ = operation_.shape != nullptr;
    if (!is_known_) {
      cursor_.fail();
      return nullptr;
    }
    read_fields(operation_);
    if (!cursor_.ok()) return nullptr;
    counted_ += operation_.shape->is_counted ? 1 : 0;
    note_marks(operation_);
    numbering_ == Numbering::kPerWrite ? number_per_write(operation_) : number_per_sub_batch(operation_);
    return &operation_;
  }

  // After next() returned null: whether the record was a batch to its last byte, with as many operations as its
  // count.
  bool is_whole() const { return cursor_.ok() && cursor_.at_end() && counted_ == count_; }
  // Likewise: whether it may be a batch whose end is missing.
  bool is_cut() const { return is_known_ && counted_ < count_; }

 private:
  void note_marks(const Operation& operation) {
    const std::uint8_t tag = operation.shape->tag;
    ends_with_noop_ = tag == kNoop;
    if (tag == kBeginPrepare) marks_ = std::max(marks_, NumberingMarks::kPerWrite);
    if (tag == kBeginPersistedPrepare || tag == kBeginUnprepare) marks_ = NumberingMarks::kPerSubBatch;
  }

  void number_per_write(Operation& operation) {
    if (operation.shape->is_counted && !in_section_ && is_numbered_) operation.sequence = next_sequence_++;
    const auto change = operation.shape->change;
    if (change == kBegin || change == kPrepare) in_section_ = change == kBegin;
    if (change == kCommit) is_numbered_ = false;
  }

  // A batch ends with the end of a section, a commit or a rollback. One without them ends with a noop. A noop at the
  // beginning means nothing.
  void number_per_sub_batch(Operation& operation) {
    const auto change = operation.shape->change;
    const bool is_noop = operation.shape->tag == kNoop;
    if (operation.shape->is_counted && sub_batch_.has_or_add(operation)) {
      ++next_sequence_;
      sub_batch_.clear();
      sub_batch_.has_or_add(operation);
    }
    operation.sequence = next_sequence_;
    const bool ends = is_noop ? !is_empty_ : change == kPrepare || change == kCommit || change == kRollback;
    if (ends) ++next_sequence_;
    if (ends) sub_batch_.clear();
    is_empty_ = ends || is_noop;
  }

  //   f  column family   k  key   v  value   e  end of a range   t  timestamp   x  transaction
  void read_fields(Operation& operation) {
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

  Bytes read_string() { return cursor_.take(cursor_.varint32()); }

  Cursor cursor_;
  Operation operation_;
  const Numbering numbering_;
  std::uint64_t sequence_;
  std::uint32_t count_;
  std::uint32_t counted_ = 0;
  std::uint64_t next_sequence_;
  NumberingMarks marks_ = NumberingMarks::kNone;
  bool ends_with_noop_ = false;
  SubBatch sub_batch_;
  bool is_empty_ = true;     // nothing since the last end of a batch
  bool is_known_ = true;     // all tags so far
  bool in_section_ = false;  // of a transaction being prepared
  bool is_numbered_ = true;  // no commit so far
};

constexpr std::uint64_t kWriteTimeSize = 8;  // after the value of a timed put
constexpr std::string_view kTimedPut = "timed_put";
constexpr std::string_view kPutEntity = "put_entity";

Error no_batch() { return {.code = Code::kDamage, .detail = "the record is not a write batch"}; }

// Returns the number of values of an operation, with those of the columns of an entity.
std::uint64_t values_in(const Value::Object& operation) {
  constexpr std::uint64_t kOfColumn = 4;
  std::uint64_t values = 1 + operation.size();
  for (const Member& member : operation) {
    if (const auto* columns = std::get_if<Value::List>(&member.value.is)) values += kOfColumn * columns->size();
  }
  return values;
}

// The end of a range is shown as `value` in JSON, as in the database's own tools.
Value value_of(const Operation& operation, const Limits& limits, ValueForm form) {
  Value::Object members;
  add_member(members, "op", std::string(operation.shape->name));
  if (form == ValueForm::kJson) add_member(members, "tag", std::uint64_t{operation.shape->tag});
  if (operation.sequence && operation.shape->is_counted) add_member(members, "sequence", *operation.sequence);
  if (operation.has('f')) add_member(members, "cf", std::uint64_t{operation.family});
  const auto add_bytes = [&](std::string_view name, char field, Bytes bytes) {
    if (operation.has(field)) add_member(members, name, bytes);
  };
  add_bytes("key", 'k', operation.key);
  add_bytes("value", 'v', operation.value);
  if (operation.shape->name == kPutEntity) leveldb_table::add_columns(operation.value, limits, members);
  add_bytes(form == ValueForm::kJson ? "value" : "end", 'e', operation.end);
  add_bytes("timestamp", 't', operation.timestamp);
  add_bytes("xid", 'x', operation.transaction);
  return {std::move(members)};
}

// Returns the type of a tag's entries in a table: tags with a column family have their own numbers.
std::uint8_t type_of(std::uint8_t tag) {
  switch (tag) {
    case 0x04: return 0x00;
    case 0x05: return 0x01;
    case 0x06: return 0x02;
    case 0x08: return 0x07;
    case 0x0e: return 0x0f;
    case 0x10: return 0x11;
    case 0x17: return 0x16;
    case 0x19: return 0x18;
    default: return tag;
  }
}

BatchOperation plain_form(const Operation& operation) {
  const Bytes end_or_value = operation.has('e') ? operation.end : operation.value;
  return {.kind = *operation.shape->change,
          .type = type_of(operation.shape->tag),
          .is_counted = operation.shape->is_counted,
          .sequence = operation.sequence,
          .family = operation.family,
          .key = operation.has('k') ? operation.key : operation.transaction,
          .value = operation.has('t') ? operation.timestamp : end_or_value};
}

}  // namespace

bool is_write_batch(Bytes record) {
  BatchReader batch(record);
  while (batch.next() != nullptr) {
  }
  return batch.is_whole();
}

bool begins_write_batch(Bytes piece) {
  BatchReader batch(piece);
  while (batch.next() != nullptr) {
  }
  return batch.is_cut() && batch.sequence() < kSequenceEnd;
}

bool has_rocksdb_operation(Bytes record) {
  constexpr std::uint8_t kLastOfLevelDb = 1;
  BatchReader batch(record);
  while (const Operation* operation = batch.next()) {
    if (operation->shape->tag > kLastOfLevelDb) return true;
  }
  return false;
}

std::string name_of_type(std::uint8_t type) {
  const auto* shape = std::ranges::find(kShapes, type, [](const OperationShape& one) { return type_of(one.tag); });
  return shape == std::ranges::end(kShapes) ? fmt::format("type {}", type) : std::string(shape->name);
}

Result<Value> batch_value(Bytes record, const Limits& limits, ValueForm form, Numbering numbering) {
  constexpr std::uint64_t kOwnValues = 4;
  const bool is_json = form == ValueForm::kJson;
  ASSIGN_OR_RETURN(const auto summary, summarize_batch(record));
  if (summary.marks == NumberingMarks::kPerWrite) numbering = Numbering::kPerWrite;
  if (summary.marks > NumberingMarks::kPerWrite) numbering = Numbering::kPerSubBatch;
  BatchReader batch(record, numbering);
  Value::List operations;
  std::uint64_t values = is_json ? kOwnValues : 0;
  while (const Operation* operation = batch.next()) {
    operations.push_back(value_of(*operation, limits, form));
    values += values_in(std::get<Value::Object>(operations.back().is));
    if (values > limits.parts_per_record) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("too many {} in a write batch", is_json ? "values" : "parts")};
    }
  }
  if (!is_json) return Value{std::move(operations)};
  Value::Object members;
  add_member(members, "sequence", batch.sequence());
  add_member(members, "count", std::uint64_t{batch.count()});
  add_member(members, "ops", std::move(operations));
  return Value{std::move(members)};
}

Result<void> batch_changes(Bytes record, const TakeChangeKind& take) {
  if (!is_write_batch(record)) return no_batch();
  BatchReader batch(record);
  while (const Operation* operation = batch.next()) {
    if (operation->shape->change) take(*operation->shape->change);
  }
  return {};
}

Result<BatchSummary> summarize_batch(Bytes record, const WantsWrite& wants) {
  BatchReader batch(record);
  std::optional<std::uint32_t> family;
  bool is_unwanted = wants != nullptr;
  while (const Operation* operation = batch.next()) {
    if (!is_unwanted || !operation->shape->change) continue;
    const bool is_of_family = operation->family == family.value_or(operation->family);
    family = operation->family;
    is_unwanted =
        is_of_family && operation->shape->is_counted && !wants(type_of(operation->shape->tag), operation->key);
  }
  if (!batch.is_whole()) return no_batch();
  return BatchSummary{batch.sequence(), batch.count(), batch.marks(), is_unwanted ? family : std::nullopt};
}

std::uint64_t batch_operations(Bytes record, Numbering numbering,
                               const std::function<bool(const BatchOperation&)>& take) {
  BatchReader batch(record, numbering);
  while (const Operation* operation = batch.next()) {
    if (operation->shape->change && !take(plain_form(*operation))) break;
  }
  return batch.next_sequence();
}

}  // namespace recordfs::leveldb_log
