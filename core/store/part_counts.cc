#include "core/store/part_counts.h"

#include <algorithm>
#include <variant>

namespace recordfs {
namespace {

std::string_view name_of_kind(KeyChangeKind kind) {
  switch (kind) {
    case KeyChangeKind::kSet: return "value set";
    case KeyChangeKind::kUnknown: return "value merged, or stored elsewhere";
    case KeyChangeKind::kDelete: return "key deleted";
    case KeyChangeKind::kDeleteRange: return "range of keys deleted";
    case KeyChangeKind::kBegin: return "transaction begun";
    case KeyChangeKind::kPrepare: return "transaction prepared";
    case KeyChangeKind::kCommit: return "transaction committed";
    case KeyChangeKind::kRollback: return "transaction rolled back";
  }
  return "other";
}

// A format adds tables that describe the other parts.
constexpr std::string_view kTableName = ".tsv";

std::string below(const std::string& name, std::string_view member) {
  return name.empty() ? std::string(member) : name + '/' + std::string(member);
}

void add_steps(PartCounts::Count& count, std::int64_t first, std::int64_t last) {
  count.first_step = std::min(first, count.first_step.value_or(first));
  count.last_step = std::max(last, count.last_step.value_or(last));
}

}  // namespace

bool PartCounts::add(const RecordSchema& schema, Bytes record) {
  ++record_;
  if (schema.change_kinds) {
    const auto take = [this](KeyChangeKind kind) { add_entry(std::string(name_of_kind(kind)), {}); };
    return schema.change_kinds(record, take).has_value();
  }
  const auto value = schema.value(record, ValueForm::kParts);
  if (!value) return false;
  omits_tables_ = schema.parts == RecordSchema::Parts::kRequired;
  add_value({}, *value);
  return true;
}

// An object with a message but no name for it is one entry, and so is each element of a list.
void PartCounts::add_value(const std::string& name, const Value& value) {
  if (const auto* const object = std::get_if<Value::Object>(&value.is)) {
    for (const Member& member : *object) {
      if (!member.name.empty()) {
        const bool is_number = std::holds_alternative<std::uint64_t>(member.value.is);
        const bool names_message = is_number && object->back().name.empty();
        const bool is_table = omits_tables_ && member.name.ends_with(kTableName);
        if (!names_message && !is_table) add_value(below(name, member.name), member.value);
      } else {
        add_value(name, member.value);
      }
    }
  } else if (const auto* const list = std::get_if<Value::List>(&value.is)) {
    for (const Value& element : *list) add_value(name, element);
  } else if (const auto* const message = std::get_if<Message>(&value.is)) {
    add_entry(name, message->type);
  } else {
    add_entry(name, {});
  }
}

PartCounts::Count& PartCounts::add_entry(const std::string& name, std::string_view type) {
  Row key(name.substr(0, kLongestName), type.substr(0, kLongestName));
  auto row = rows_.find(key);
  if (row == rows_.end() && rows_.size() < kMostRows) row = rows_.try_emplace(std::move(key)).first;
  Count& count = row == rows_.end() ? others_ : row->second;
  ++count.entries;
  if (std::exchange(count.last_record, record_) != record_) ++count.records;
  return count;
}

void PartCounts::add(const std::vector<Scalar>& scalars) {
  ++record_;
  for (const Scalar& scalar : scalars) {
    if (Count& count = add_entry(scalar.tag, {}); scalar.step) add_steps(count, *scalar.step, *scalar.step);
  }
}

void PartCounts::add(const PartCounts& other) {
  const auto add_count = [](Count& sum, const Count& count) {
    sum.records += count.records;
    sum.entries += count.entries;
    if (count.first_step) add_steps(sum, *count.first_step, *count.last_step);
  };
  for (const auto& [name, count] : other.rows_) {
    auto row = rows_.find(name);
    if (row == rows_.end() && rows_.size() < kMostRows) row = rows_.try_emplace(name).first;
    add_count(row == rows_.end() ? others_ : row->second, count);
  }
  add_count(others_, other.others_);
}

}  // namespace recordfs
