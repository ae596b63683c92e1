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

// The end of a range is shown as `value` in JSON, as in the database's own tools.
Value value_of(const Operation& operation, ValueForm form) {
  Value::Object members;
  add_member(members, "op", std::string(operation.shape->name));
  if (form == ValueForm::kJson) add_member(members, "tag", std::uint64_t{operation.shape->tag});
  if (operation.sequence) add_member(members, "sequence", *operation.sequence);
  if (operation.family) add_member(members, "cf", std::uint64_t{*operation.family});
  const auto add_bytes = [&](std::string_view name, const std::optional<Bytes>& bytes) {
    if (bytes) add_member(members, name, *bytes);
  };
  add_bytes("key", operation.key);
  add_bytes("value", operation.value);
  add_bytes(form == ValueForm::kJson ? "value" : "end", operation.end);
  add_bytes("timestamp", operation.timestamp);
  add_bytes("xid", operation.transaction);
  return {std::move(members)};
}

std::optional<KeyChange> change_of(const Operation& operation, Bytes record) {
  if (!operation.shape->change) return std::nullopt;
  KeyChange change{.kind = *operation.shape->change, .family = operation.family.value_or(0)};
  if (const auto& name = operation.key ? operation.key : operation.transaction) change.key = *name;
  if (operation.end) change.end = *operation.end;
  if (change.kind != KeyChangeKind::kSet) return change;
  change.value = extent_in(record, *operation.value);
  if (operation.shape->name != kTimedPut) return change;
  if (change.value.size < kWriteTimeSize) {
    change.kind = KeyChangeKind::kUnknown;
  } else {
    change.value.size -= kWriteTimeSize;
  }
  return change;
}

}  // namespace

Result<Value> batch_value(Bytes record, const Limits& limits, ValueForm form) {
  constexpr std::uint64_t kOwnValues = 4;
  const bool is_json = form == ValueForm::kJson;
  BatchReader batch(record);
  Value::List operations;
  std::uint64_t values = is_json ? kOwnValues : 0;
  while (const auto operation = batch.next()) {
    operations.push_back(value_of(*operation, form));
    values += 1 + std::get<Value::Object>(operations.back().is).size();
    if (values > limits.parts_per_record) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("too many {} in a write batch", is_json ? "values" : "parts")};
    }
  }
  if (!batch.is_whole()) return no_batch();
  if (!is_json) return Value{std::move(operations)};
  Value::Object members;
  add_member(members, "sequence", batch.sequence());
  add_member(members, "count", std::uint64_t{batch.count()});
  add_member(members, "ops", std::move(operations));
  return Value{std::move(members)};
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
