#include "core/formats/leveldb_table/content.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/formats/leveldb_table/keys.h"
#include "core/formats/leveldb_table/records.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::uint8_t kSingleDelete = 7;
constexpr std::uint8_t kDeleteRange = 15;
constexpr std::uint8_t kDeleteWithTimestamp = 20;

struct Content {
  Bytes key;    // the user's key
  Bytes value;  // empty for deletions
  std::optional<InternalKey> tag;

  bool has_value() const { return !tag || !value.empty() || (tag->type != kDelete && tag->type != kSingleDelete); }
};

Result<Content> content_of(Bytes record, bool has_database_keys) {
  const auto parsed = parse_record(record);
  if (!parsed) return Error{.code = Code::kDamage, .detail = "not a table entry"};
  if (!has_database_keys) return Content{parsed->key, parsed->value, std::nullopt};
  const auto internal = parse_internal(parsed->key);
  if (!internal) return Error{.code = Code::kDamage, .detail = "key shorter than an internal key"};
  return Content{internal->user_key, parsed->value, internal};
}

std::string name_of(std::uint8_t type) {
  const std::string_view name = type_name(type);
  return name.empty() ? fmt::format("type {}", type) : std::string(name);
}

KeyChangeKind kind_of(std::uint8_t type) {
  switch (type) {
    case kPut: return KeyChangeKind::kSet;
    case kDelete:
    case kSingleDelete:
    case kDeleteWithTimestamp: return KeyChangeKind::kDelete;
    case kDeleteRange: return KeyChangeKind::kDeleteRange;
    default: return KeyChangeKind::kUnknown;
  }
}

}  // namespace

Result<Value> value_of(Bytes record, bool has_database_keys) {
  ASSIGN_OR_RETURN(const auto content, content_of(record, has_database_keys));
  Value::Object members;
  add_member(members, "key", content.key);
  if (content.tag) {
    add_member(members, "sequence", content.tag->sequence);
    add_member(members, "type", name_of(content.tag->type));
  }
  if (content.has_value()) add_member(members, "value", content.value);
  return Value{std::move(members)};
}

Result<void> change_of(Bytes record, bool has_database_keys, std::uint32_t family, const TakeKeyChange& take) {
  ASSIGN_OR_RETURN(const auto content, content_of(record, has_database_keys));
  KeyChange change{.family = family, .key = content.key, .value = extent_in(record, content.value)};
  if (content.tag) {
    change.kind = kind_of(content.tag->type);
    change.sequence = content.tag->sequence;
  }
  if (change.kind == KeyChangeKind::kDeleteRange) change.end = content.value;
  take(change);
  return {};
}

}  // namespace recordfs::leveldb_table
