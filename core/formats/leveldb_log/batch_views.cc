#include "core/formats/leveldb_log/batch_views.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/formats/leveldb_log/write_batch.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::uint64_t kWriteTimeSize = 8;  // after the value of a timed put
constexpr std::string_view kTimedPut = "timed_put";

Error no_batch() { return {.code = Code::kDamage, .detail = "the record is not a write batch"}; }
Error too_many(std::string_view what) { return {.code = Code::kLimit, .detail = fmt::format("too many {}", what)}; }

Bytes bytes_at(Bytes record, const Extent& extent) {
  return record.subspan(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.size));
}

// The end of a range is shown as `value`, as in the database's own tools.
Value value_of(const Operation& operation, Bytes record) {
  Value::Object members;
  add_member(members, "op", std::string(operation.shape->name));
  add_member(members, "tag", std::uint64_t{operation.shape->tag});
  if (operation.sequence) add_member(members, "sequence", *operation.sequence);
  if (operation.family) add_member(members, "cf", std::uint64_t{*operation.family});
  const auto add_bytes = [&](std::string_view name, const std::optional<Extent>& extent) {
    if (extent) add_member(members, name, bytes_at(record, *extent));
  };
  add_bytes("key", operation.key);
  add_bytes("value", operation.end ? operation.end : operation.value);
  add_bytes("timestamp", operation.timestamp);
  add_bytes("xid", operation.transaction);
  return {std::move(members)};
}

// Appends the parts of one operation.
void add_parts(Parts& parts, const Operation& operation, std::uint64_t number) {
  const std::size_t directory = parts.size();
  parts.push_back({.key = fmt::format("{:06}", number)});
  const auto add_text = [&](std::string key, std::string text) {
    parts.push_back({.key = std::move(key), .parent = directory, .kind = PartKind::kText, .text = std::move(text)});
  };
  const auto add_slice = [&](std::string key, const std::optional<Extent>& extent) {
    if (extent)
      parts.push_back({.key = std::move(key), .parent = directory, .kind = PartKind::kSlice, .extent = *extent});
  };
  add_text("op", fmt::format("{}\n", operation.shape->name));
  if (operation.sequence) add_text("sequence", fmt::format("{}\n", *operation.sequence));
  if (operation.family) add_text("cf", fmt::format("{}\n", *operation.family));
  add_slice("key", operation.key);
  add_slice("value", operation.value);
  add_slice("end", operation.end);
  add_slice("timestamp", operation.timestamp);
  add_slice("xid", operation.transaction);
}

std::optional<KeyChange> change_of(const Operation& operation, Bytes record) {
  if (!operation.shape->change) return std::nullopt;
  KeyChange change{.kind = *operation.shape->change, .family = operation.family.value_or(0)};
  if (const auto& name = operation.key ? operation.key : operation.transaction) change.key = bytes_at(record, *name);
  if (operation.end) change.end = bytes_at(record, *operation.end);
  if (change.kind != KeyChangeKind::kSet) return change;
  change.value = *operation.value;
  if (operation.shape->name != kTimedPut) return change;
  if (change.value.size < kWriteTimeSize) {
    change.kind = KeyChangeKind::kUnknown;
  } else {
    change.value.size -= kWriteTimeSize;
  }
  return change;
}

}  // namespace

Result<Value> batch_value(Bytes record, const Limits& limits) {
  constexpr std::uint64_t kOwnValues = 4;
  BatchReader batch(record);
  Value::List operations;
  std::uint64_t values = kOwnValues;
  while (const auto operation = batch.next()) {
    operations.push_back(value_of(*operation, record));
    values += 1 + std::get<Value::Object>(operations.back().is).size();
    if (values > limits.parts_per_record) return too_many("values in a write batch");
  }
  if (!batch.is_whole()) return no_batch();
  // Not an initializer list: it would copy the operations, and if a copy runs out of memory, g++ 12 destroys objects
  // that were never constructed.
  Value::Object members;
  members.push_back({"sequence", {batch.sequence()}});
  members.push_back({"count", {std::uint64_t{batch.count()}}});
  members.push_back({"ops", {std::move(operations)}});
  return Value{std::move(members)};
}

Result<Parts> batch_parts(Bytes record, const Limits& limits) {
  BatchReader batch(record);
  Parts parts;
  for (std::uint64_t number = 0; const auto operation = batch.next(); ++number) {
    add_parts(parts, *operation, number);
    if (parts.size() > limits.parts_per_record) return too_many("parts in a write batch");
  }
  if (!batch.is_whole()) return no_batch();
  return parts;
}

Result<void> batch_changes(Bytes record, const TakeKeyChange& take) {
  if (!is_write_batch(record)) return no_batch();
  BatchReader batch(record);
  while (const auto operation = batch.next()) {
    const auto change = change_of(*operation, record);
    if (change && !take(*change)) break;
  }
  return {};
}

}  // namespace recordfs::leveldb_log
