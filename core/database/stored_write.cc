#include "core/database/stored_write.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/database/blob.h"
#include "core/database/entry.h"
#include "core/formats/leveldb_table/entity.h"

namespace recordfs::database {
namespace {

using leveldb_table::EntityColumn;

// Returns the value as stored.
Result<Slice> stored_value_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                              const StoredWrite& write) {
  if (write.logged == nullptr) return write.value;
  ASSIGN_OR_RETURN(auto value,
                   state->logged().value(context, state->open_files(), *write.logged, state->options().limits));
  if (!value.owner) value.owner = state;
  return value;
}

// Returns the default column, which is the first one.
std::optional<EntityColumn> default_of(const std::vector<EntityColumn>& columns) {
  return !columns.empty() && columns.front().name.empty() ? std::optional(columns.front()) : std::nullopt;
}

Result<Slice> value_of_column(const RequestContext& context, const State& state, const StoredWrite& write,
                              const EntityColumn& column, const Slice& entity, Bytes key) {
  if (column.is_in_blob_file) return read_blob(context, state, column.value, key, write.file);
  return Slice{column.value, entity.owner};
}

// Sets what the entity tells of its default column.
void set_default_size(Bytes entity, Version& version) {
  version.size.reset();
  const auto columns = leveldb_table::parse_entity(entity, {});
  if (!columns) return;
  const auto column = default_of(*columns);
  version.size = column ? column->value.size() : 0;
  if (!column || !column->is_in_blob_file) return;
  version.is_in_blob_file = true;
  version.size = size_in_blob_file(column->value);
}

// Returns the places of blobs that belong to the write.
std::vector<Bytes> blob_places_of(const StoredWrite& write) {
  if (write.type == kTypeBlob) return {write.value.bytes};
  std::vector<Bytes> places;
  if (write.type != kTypeEntity) return places;
  const auto columns = leveldb_table::parse_entity(write.value.bytes, {});
  if (!columns) return places;
  for (const EntityColumn& column : *columns) {
    if (column.is_in_blob_file) places.push_back(column.value);
  }
  return places;
}

}  // namespace

StoredWrite write_of(const LoggedWrites& logged, const LoggedWrite& write, const KeyOrder& order) {
  StoredWrite stored{.sequence = write.tag >> 8,
                     .type = static_cast<std::uint8_t>(write.tag & 0xff),
                     .age = {.level = -1},
                     .file = logged.log_name(write),
                     .stored_size = write.value_size,
                     .value = {},
                     .logged = &write,
                     .timestamp = order.timestamp(logged.key(write))};
  if (has_size_in_value(stored.type)) stored.value.bytes = logged.value_in_memory(write);
  return stored;
}

bool has_size_in_value(std::uint8_t type) { return type == kTypeBlob || type == kTypeEntity; }

Version version_of(const StoredWrite& write, const Staleness& staleness) {
  Version version{.sequence = write.sequence,
                  .operation = operation_of(write.type),
                  .may_be_stale = staleness.by_damage,
                  .unread = staleness.unread,
                  .is_in_blob_file = write.type == kTypeBlob,
                  .size = write.stored_size,
                  .file = write.file,
                  .timestamp = write.timestamp};
  const bool has_no_value = deletes(version.operation) && version.operation != Operation::kDeleteRange;
  if (has_no_value) version.size = 0;
  if (write.type == kTypeTimedPut) version.size = write.stored_size - std::min(write.stored_size, kTimeSize);
  if (write.type == kTypeBlob) version.size = size_in_blob_file(write.value.bytes);
  if (write.type == kTypeEntity) set_default_size(write.value.bytes, version);
  return version;
}

Result<void> open_value(const State& state, const StoredWrite& write) {
  if (write.logged != nullptr && !write.logged->is_value_in_memory) TRY(state.open_files().open(write.file));
  for (const Bytes stored : blob_places_of(write)) {
    const auto place = parse_blob_place(stored);
    const auto name = place && !place->value ? state.blob_name(place->file) : std::nullopt;
    if (name) TRY(state.open_files().open(*name));
  }
  return {};
}

Result<Slice> value_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                       const StoredWrite& write, Bytes key) {
  const Operation operation = operation_of(write.type);
  if (operation == Operation::kUnknown) {
    return Error{.code = Code::kUnsupported, .detail = fmt::format("a write of type {}", write.type)};
  }
  if (deletes(operation) && operation != Operation::kDeleteRange) return Slice{};
  ASSIGN_OR_RETURN(Slice value, stored_value_of(context, state, write));
  if (write.type == kTypeBlob) return read_blob(context, *state, value.bytes, key, write.file);
  if (write.type == kTypeEntity) {
    ASSIGN_OR_RETURN(const auto columns, leveldb_table::parse_entity(value.bytes, state->options().limits));
    const auto column = default_of(columns);
    return column ? value_of_column(context, *state, write, *column, value, key) : Slice{};
  }
  if (write.type == kTypeTimedPut) {
    if (value.bytes.size() < kTimeSize) return Error{.code = Code::kDamage, .detail = "a value without its time"};
    value.bytes = value.bytes.first(value.bytes.size() - kTimeSize);
  }
  return value;
}

Result<std::vector<Column>> columns_of(const RequestContext& context, const std::shared_ptr<const State>& state,
                                       const StoredWrite& write, Bytes key) {
  std::vector<Column> columns;
  if (write.type != kTypeEntity) return columns;
  ASSIGN_OR_RETURN(const Slice entity, stored_value_of(context, state, write));
  ASSIGN_OR_RETURN(const auto stored, leveldb_table::parse_entity(entity.bytes, state->options().limits));
  std::uint64_t bytes = 0;
  for (const EntityColumn& column : stored) {
    ASSIGN_OR_RETURN(auto value, value_of_column(context, *state, write, column, entity, key));
    bytes += value.bytes.size();
    if (bytes > state->options().limits.decoded_chunk) {
      return Error{.code = Code::kLimit, .detail = "the columns of an entity exceed the limit"};
    }
    columns.push_back({std::string(as_text(column.name)), std::move(value)});
  }
  return columns;
}

}  // namespace recordfs::database
