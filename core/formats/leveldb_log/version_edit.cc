#include "core/formats/leveldb_log/version_edit.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/cursor.h"
#include "core/formats/leveldb_log/write_batch.h"

namespace recordfs::leveldb_log {
namespace {

// A field of a change. Encodings:
//   v  varint    s  varint length and that many bytes    k  the same, an internal key
//   c  pairs of a tag and a string, ended by tag 1    b  the same, ended by tag 0
//   w  pairs of a tag and a varint, ended by tag 1
struct EditField {
  char letter;
  char encoding;
  std::string_view name;  // in JSON
  std::uint64_t Change::*number = nullptr;
  Bytes Change::*bytes = nullptr;
};

constexpr EditField kEditFields[] = {
    {'v', 'v', "value", &Change::value},
    {'t', 's', "value", nullptr, &Change::text},
    {'n', 'v', "number", &Change::number},
    {'l', 'v', "level", &Change::level},
    {'p', 'v', "path_id", &Change::path},
    {'z', 'v', "file_size", &Change::size},
    {'i', 'k', "internal_key", nullptr, &Change::text},
    {'k', 'k', "smallest", nullptr, &Change::smallest},
    {'K', 'k', "largest", nullptr, &Change::largest},
    {'s', 'v', "smallest_seqno", &Change::smallest_sequence},
    {'S', 'v', "largest_seqno", &Change::largest_sequence},
    {'c', 'v', "blob_count", &Change::blobs},
    {'b', 'v', "blob_bytes", &Change::blob_bytes},
    {'f', 's', "checksum_method", nullptr, &Change::checksum_function},
    {'x', 's', "checksum_value", nullptr, &Change::checksum},
    {'1', 'c', "custom", nullptr, &Change::custom},
    {'0', 'b', "custom", nullptr, &Change::custom},
    {'w', 'w', "custom", nullptr, &Change::custom},
};

// How a tag is laid out: the letters of its fields.
struct EditShape {
  std::uint32_t tag;
  std::string_view name;
  ChangeKind kind;
  std::string_view fields;
};

constexpr EditShape kEditShapes[] = {
    {1, "comparator", ChangeKind::kComparator, "t"},
    {2, "log_number", ChangeKind::kLogNumber, "v"},
    {3, "next_file_number", ChangeKind::kNextFileNumber, "v"},
    {4, "last_sequence", ChangeKind::kLastSequence, "v"},
    {5, "compact_pointer", ChangeKind::kOther, "li"},
    {6, "deleted_file", ChangeKind::kDeletedTable, "ln"},
    {7, "new_file", ChangeKind::kNewTable, "lnzkK"},
    {9, "prev_log_number", ChangeKind::kPreviousLog, "v"},
    {10, "min_log_number_to_keep", ChangeKind::kLeastLogToKeep, "v"},
    {100, "new_file2", ChangeKind::kNewTable, "lnzkKsS"},
    {102, "new_file3", ChangeKind::kNewTable, "lnpzkKsS"},
    {103, "new_file4", ChangeKind::kNewTable, "lnzkKsS1"},
    {200, "column_family", ChangeKind::kFamily, "v"},
    {201, "column_family_add", ChangeKind::kNewFamily, "t"},
    {202, "column_family_drop", ChangeKind::kDroppedFamily, ""},
    {203, "max_column_family", ChangeKind::kLargestFamily, "v"},
    {300, "in_atomic_group", ChangeKind::kAtomicGroup, "v"},
    {400, "blob_file_addition", ChangeKind::kNewBlobFile, "ncbfx0"},
    {401, "blob_file_garbage", ChangeKind::kBlobGarbage, "ncb0"},
    {8193, "db_id", ChangeKind::kDatabaseId, "t"},
    {8194, "blob_file_addition", ChangeKind::kNewBlobFile, "ncbfx0"},
    {8195, "blob_file_garbage", ChangeKind::kBlobGarbage, "ncb0"},
    {8196, "wal_addition", ChangeKind::kNewLog, "nw"},
    {8197, "wal_deletion", ChangeKind::kDeletedLogs, "v"},
    {8198, "full_history_ts_low", ChangeKind::kLeastTimestamp, "t"},
    {8199, "wal_addition2", ChangeKind::kSkippableNewLog, "t"},
    {8200, "wal_deletion2", ChangeKind::kSkippableDeletedLogs, "t"},
    {8201, "persist_user_defined_timestamps", ChangeKind::kPersistsTimestamps, "t"},
    {8202, "subcompaction_progress", ChangeKind::kOther, "t"},
    {8203, "last_compacted_manifest_file_size", ChangeKind::kOther, "t"},
};
constexpr std::size_t kTagOfKey = 8;  // bytes of an internal key after the user's key
constexpr EditShape kSkipped{0, "unknown", ChangeKind::kOther, "t"};

constexpr std::uint32_t kMaySkip = 1u << 13;  // an unknown tag with this bit has a length

const EditShape* find_shape(std::uint32_t tag) {
  const auto* shape = std::ranges::find(kEditShapes, tag, &EditShape::tag);
  if (shape != std::ranges::end(kEditShapes)) return shape;
  return (tag & kMaySkip) != 0 ? &kSkipped : nullptr;
}

const EditField& field_of(char letter) { return *std::ranges::find(kEditFields, letter, &EditField::letter); }

std::uint64_t take_number(Cursor& cursor) { return cursor.varint64(); }
Bytes take_string(Cursor& cursor) { return cursor.take(cursor.varint32()); }

bool is_split(Bytes internal_key) { return internal_key.size() >= kTagOfKey; }

// Parses an edit to its end, or to the first error, or until it has too many values.
class EditReader {
 public:
  // `values_of_key`: how many values an internal key has beside itself.
  EditReader(Bytes record, std::uint64_t limit, std::uint64_t values_of_key)
      : cursor_(record), limit_(limit), values_of_key_(values_of_key) {}

  // Passes each change to `take`. Fails as it does.
  template <class Take>
  Result<void> run(const Take& take) {
    constexpr std::uint64_t kValuesBesideFields = 3;
    while (goes_on() && !cursor_.at_end()) {
      const std::uint32_t tag = cursor_.varint32();
      const EditShape* shape = find_shape(tag);
      if (shape == nullptr) {
        cursor_.fail();
        break;
      }
      Change change{.kind = shape->kind, .tag = tag};
      for (const char letter : shape->fields) read_field(field_of(letter), change);
      values_ += kValuesBesideFields + shape->fields.size();
      if (goes_on()) TRY(take(change));
    }
    if (!cursor_.ok()) return Error{.code = Code::kDamage, .detail = "the record is not a version edit"};
    if (values_ > limit_) return Error{.code = Code::kLimit, .detail = "too many values in a version edit"};
    return {};
  }

  Result<Edit> run() {
    Edit edit;
    TRY(run([&](const Change& change) {
      edit.push_back(change);
      return Result<void>();
    }));
    return edit;
  }

 private:
  bool goes_on() const { return cursor_.ok() && values_ <= limit_; }

  void read_field(const EditField& field, Change& change) {
    switch (field.encoding) {
      case 'v': change.*field.number = take_number(cursor_); break;
      case 'w': change.*field.bytes = take_pairs(take_number, 1); break;
      case 'b': change.*field.bytes = take_pairs(take_string, 0); break;
      case 'c': change.*field.bytes = take_pairs(take_string, 1); break;
      default: change.*field.bytes = take_string(cursor_);
    }
    if (field.encoding == 'k' && is_split(change.*field.bytes)) values_ += values_of_key_;
  }

  // Returns the pairs before the tag that ends them.
  template <class Take>
  Bytes take_pairs(const Take& take, std::uint32_t end) {
    constexpr std::uint64_t kValuesOfAPair = 3;
    const Bytes begin = cursor_.rest();
    std::size_t size = 0;
    while (goes_on() && cursor_.varint32() != end && cursor_.ok()) {
      take(cursor_);
      size = begin.size() - cursor_.remaining();
      values_ += kValuesOfAPair;
    }
    return begin.first(size);
  }

  Cursor cursor_;
  std::uint64_t limit_;
  std::uint64_t values_of_key_;
  std::uint64_t values_ = 1;
};

Value value_of_key(Bytes key) {
  if (!is_split(key)) return {key};
  const std::uint64_t tag = Cursor(key.last(kTagOfKey)).u64_le();
  Value::Object members;
  add_member(members, "key", key.first(key.size() - kTagOfKey));
  add_member(members, "sequence", tag >> 8);
  add_member(members, "type", name_of_type(static_cast<std::uint8_t>(tag)));
  return {std::move(members)};
}

template <class Take>
Value value_of_pairs(Bytes pairs, const Take& take) {
  Value::List list;
  for (Cursor cursor(pairs); !cursor.at_end();) {
    Value::Object members;
    add_member(members, "custom_tag", std::uint64_t{cursor.varint32()});
    add_member(members, "value", take(cursor));
    list.emplace_back().is = std::move(members);
  }
  return {std::move(list)};
}

Value value_of_field(const Change& change, const EditField& field) {
  switch (field.encoding) {
    case 'v': return {change.*field.number};
    case 's': return {change.*field.bytes};
    case 'k': return value_of_key(change.*field.bytes);
    case 'w': return value_of_pairs(change.*field.bytes, take_number);
    default: return value_of_pairs(change.*field.bytes, take_string);
  }
}

Value value_of_change(const Change& change) {
  const EditShape& shape = *find_shape(change.tag);
  Value::Object members;
  members.reserve(2 + shape.fields.size());
  add_member(members, "tag", std::uint64_t{change.tag});
  add_member(members, "name", std::string(shape.name));
  for (const char letter : shape.fields) {
    const EditField& field = field_of(letter);
    add_member(members, field.name, std::move(value_of_field(change, field).is));
  }
  return {std::move(members)};
}

// Returns the value of the first pair with this tag.
template <class Take>
auto find_pair(Bytes pairs, std::uint32_t wanted, const Take& take)
    -> std::optional<decltype(take(std::declval<Cursor&>()))> {
  for (Cursor cursor(pairs); !cursor.at_end();) {
    const bool is_wanted = cursor.varint32() == wanted;
    auto value = take(cursor);
    if (is_wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bytes> Change::custom_text(std::uint32_t tag_of_pair) const {
  return find_pair(custom, tag_of_pair, take_string);
}

std::uint64_t Change::custom_number(std::uint32_t tag_of_pair) const {
  return find_pair(custom, tag_of_pair, take_number).value_or(0);
}

Result<Edit> parse_edit(Bytes record, const Limits& limits) {
  return EditReader(record, limits.parts_per_record, 0).run();
}

Result<void> visit_edit(Bytes record, const std::function<Result<void>(const Change&)>& take) {
  return EditReader(record, UINT64_MAX, 0).run(take);
}

Result<Value> edit_value(Bytes record, const Limits& limits) {
  constexpr std::uint64_t kMembersOfKey = 3;
  ASSIGN_OR_RETURN(const auto edit, EditReader(record, limits.parts_per_record, kMembersOfKey).run());
  Value::List changes;
  for (const Change& change : edit) changes.push_back(value_of_change(change));
  return Value{std::move(changes)};
}

}  // namespace recordfs::leveldb_log
