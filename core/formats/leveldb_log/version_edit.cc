#include "core/formats/leveldb_log/version_edit.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/cursor.h"
#include "core/formats/leveldb_log/write_batch.h"

namespace recordfs::leveldb_log {
namespace {

// How a tag is laid out: one letter a field, and the fields' names.
//   v  varint    s  varint length and that many bytes    k  the same, an internal key
//   c  pairs of a tag and a string, ended by tag 1    b  the same, ended by tag 0
//   w  pairs of a tag and a varint, ended by tag 1
struct Shape {
  std::uint32_t tag;
  std::string_view name;
  std::string_view fields;
  std::string_view names;
};

constexpr Shape kEditShapes[] = {
    {1, "comparator", "s", "value"},
    {2, "log_number", "v", "value"},
    {3, "next_file_number", "v", "value"},
    {4, "last_sequence", "v", "value"},
    {5, "compact_pointer", "vk", "level internal_key"},
    {6, "deleted_file", "vv", "level number"},
    {7, "new_file", "vvvkk", "level number file_size smallest largest"},
    {9, "prev_log_number", "v", "value"},
    {10, "min_log_number_to_keep", "v", "value"},
    {100, "new_file2", "vvvkkvv", "level number file_size smallest largest smallest_seqno largest_seqno"},
    {102, "new_file3", "vvvvkkvv", "level number path_id file_size smallest largest smallest_seqno largest_seqno"},
    {103, "new_file4", "vvvkkvvc", "level number file_size smallest largest smallest_seqno largest_seqno custom"},
    {200, "column_family", "v", "value"},
    {201, "column_family_add", "s", "value"},
    {202, "column_family_drop", "", ""},
    {203, "max_column_family", "v", "value"},
    {300, "in_atomic_group", "v", "value"},
    {400, "blob_file_addition", "vvvssb", "number blob_count blob_bytes checksum_method checksum_value custom"},
    {401, "blob_file_garbage", "vvvb", "number blob_count blob_bytes custom"},
    {8193, "db_id", "s", "value"},
    {8194, "blob_file_addition", "vvvssb", "number blob_count blob_bytes checksum_method checksum_value custom"},
    {8195, "blob_file_garbage", "vvvb", "number blob_count blob_bytes custom"},
    {8196, "wal_addition", "vw", "number custom"},
    {8197, "wal_deletion", "v", "value"},
    {8198, "full_history_ts_low", "s", "value"},
    {8199, "wal_addition2", "s", "value"},
    {8200, "wal_deletion2", "s", "value"},
    {8201, "persist_user_defined_timestamps", "s", "value"},
};
constexpr std::uint32_t kNewFileOfLevelDb = 7;  // RocksDB writes 100 and above for new files
constexpr std::uint32_t kLastTagOfLevelDb = 9;
constexpr std::size_t kTagOfKey = 8;  // bytes of an internal key after the user's key
constexpr Shape kSkipped{0, "unknown", "s", "value"};

constexpr std::uint32_t kMaySkip = 1u << 13;  // an unknown tag with this bit has a length

const Shape* find_shape(std::uint32_t tag) {
  const auto* shape = std::ranges::find(kEditShapes, tag, &Shape::tag);
  if (shape != std::ranges::end(kEditShapes)) return shape;
  return (tag & kMaySkip) != 0 ? &kSkipped : nullptr;
}

// Parses an edit to its end, or to the first error.
class EditReader {
 public:
  // Appends the changes to a list, if it is not null.
  explicit EditReader(Bytes record, std::uint64_t limit = UINT64_MAX, Value::List* changes = nullptr,
                      EditKeys keys = EditKeys::kStored)
      : cursor_(record), limit_(limit), keys_(keys), is_empty_(record.empty()) {
    while (goes_on() && !cursor_.at_end()) {
      const std::uint32_t tag = cursor_.varint32();
      const Shape* shape = find_shape(tag);
      if (shape == nullptr) {
        cursor_.fail();
        return;
      }
      has_leveldb_tag_ |= tag == kNewFileOfLevelDb;
      has_rocksdb_tag_ |= tag > kLastTagOfLevelDb;
      Value::Object members;
      add_member(members, "tag", std::uint64_t{tag});
      add_member(members, "name", std::string(shape->name));
      read_fields(*shape, members);
      values_ += 1 + members.size();
      if (changes != nullptr) changes->emplace_back().is = std::move(members);
    }
  }

  // Returns whether the record is an edit to its last byte, or empty: RocksDB writes edits without a change.
  bool is_whole() const { return cursor_.ok(); }
  // Likewise, but an empty record is no evidence for an edit.
  bool is_edit() const { return is_whole() && !is_empty_; }
  bool has_leveldb_tag() const { return has_leveldb_tag_; }  // a tag that RocksDB reads but does not write
  bool has_rocksdb_tag() const { return has_rocksdb_tag_; }  // a tag that LevelDB does not have
  bool is_within_limit() const { return values_ <= limit_; }

 private:
  bool goes_on() const { return cursor_.ok() && is_within_limit(); }

  void read_fields(const Shape& shape, Value::Object& members) {
    std::string_view names = shape.names;
    for (const char field : shape.fields) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      add_member(members, name, std::move(read_field(field).is));
    }
  }

  Value read_field(char field) {
    switch (field) {
      case 'v': return {cursor_.varint64()};
      case 's': return {cursor_.take(cursor_.varint32())};
      case 'k': return read_key();
      case 'b': return read_pairs('s', 0);
      case 'w': return read_pairs('v', 1);
      default: return read_pairs('s', 1);
    }
  }

  Value read_key() {
    const Bytes key = cursor_.take(cursor_.varint32());
    if (keys_ == EditKeys::kStored || key.size() < kTagOfKey) return {key};
    const std::uint64_t tag = Cursor(key.last(kTagOfKey)).u64_le();
    Value::Object members;
    add_member(members, "key", key.first(key.size() - kTagOfKey));
    add_member(members, "sequence", tag >> 8);
    add_member(members, "type", name_of_type(static_cast<std::uint8_t>(tag)));
    values_ += members.size();
    return {std::move(members)};
  }

  Value read_pairs(char field, std::uint32_t end) {
    constexpr std::uint64_t kValuesOfAPair = 3;
    Value::List pairs;
    while (goes_on()) {
      const std::uint32_t tag = cursor_.varint32();
      if (tag == end || !cursor_.ok()) break;
      Value::Object members;
      add_member(members, "custom_tag", std::uint64_t{tag});
      add_member(members, "value", std::move(read_field(field).is));
      pairs.emplace_back().is = std::move(members);
      values_ += kValuesOfAPair;
    }
    return {std::move(pairs)};
  }

  Cursor cursor_;
  std::uint64_t limit_;
  EditKeys keys_;
  bool is_empty_;
  std::uint64_t values_ = 1;
  bool has_leveldb_tag_ = false;
  bool has_rocksdb_tag_ = false;
};

}  // namespace

Result<Value> edit_value(Bytes record, const Limits& limits, EditKeys keys) {
  Value::List changes;
  const EditReader reader(record, limits.parts_per_record, &changes, keys);
  if (!reader.is_whole()) return Error{.code = Code::kDamage, .detail = "the record is not a version edit"};
  if (!reader.is_within_limit()) return Error{.code = Code::kLimit, .detail = "too many values in a version edit"};
  return Value{std::move(changes)};
}

EditTags tags_of_edit(Bytes record) {
  const EditReader edit(record);
  return {edit.is_edit(), edit.is_edit() && edit.has_leveldb_tag(), edit.is_edit() && edit.has_rocksdb_tag()};
}

}  // namespace recordfs::leveldb_log
