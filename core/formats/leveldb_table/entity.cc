#include "core/formats/leveldb_table/entity.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"

namespace recordfs::leveldb_table {
namespace {

using Columns = std::vector<EntityColumn>;

enum Version : std::uint32_t { kInline = 1, kWithBlobFiles = 2 };
enum ColumnType : std::uint8_t { kValue = 0x01, kBlob = 0x11 };

Error damage() { return {.code = Code::kDamage, .detail = "a wide-column entity is invalid"}; }

// Names and sizes alternate, and the values follow.
Result<Columns> parse_inline(Cursor cursor, std::uint32_t count) {
  std::vector<std::uint32_t> sizes(count);
  Columns columns(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    columns[i].name = cursor.take(cursor.varint32());
    sizes[i] = cursor.varint32();
  }
  for (std::uint32_t i = 0; i < count; ++i) columns[i].value = cursor.take(sizes[i]);
  return cursor.ok() && cursor.at_end() ? Result<Columns>(std::move(columns)) : damage();
}

// Types, sizes of names, sizes of values, names and values are in sections of their own.
Result<Columns> parse_sections(Cursor cursor, std::uint32_t count) {
  const std::uint32_t name_sizes_size = cursor.varint32();
  const std::uint32_t value_sizes_size = cursor.varint32();
  const std::uint32_t names_size = cursor.varint32();
  Cursor types(cursor.take(count));
  Cursor name_sizes(cursor.take(name_sizes_size));
  Cursor value_sizes(cursor.take(value_sizes_size));
  Cursor names(cursor.take(names_size));
  if (!cursor.ok()) return damage();
  Columns columns(count);
  for (EntityColumn& column : columns) {
    const std::uint8_t type = types.u8();
    if (type != kValue && type != kBlob) {
      return Error{.code = Code::kUnsupported, .detail = fmt::format("a column of type {} in an entity", type)};
    }
    column.is_in_blob_file = type == kBlob;
    column.name = names.take(name_sizes.varint32());
    column.value = cursor.take(value_sizes.varint32());
  }
  const auto is_read = [](const Cursor& of) { return of.ok() && of.at_end(); };
  const bool is_valid = is_read(cursor) && is_read(names) && is_read(name_sizes) && is_read(value_sizes);
  return is_valid ? Result<Columns>(std::move(columns)) : damage();
}

}  // namespace

Result<std::vector<EntityColumn>> parse_entity(Bytes encoded, const Limits& limits) {
  Cursor cursor(encoded);
  const std::uint32_t version = cursor.varint32();
  const std::uint32_t count = cursor.varint32();
  if (!cursor.ok()) return damage();
  if (version > kWithBlobFiles) {
    return Error{.code = Code::kUnsupported, .detail = fmt::format("a wide-column entity of version {}", version)};
  }
  if (count > cursor.remaining()) return damage();  // a column has at least two bytes
  if (count > limits.parts_per_record) {
    return Error{.code = Code::kLimit, .detail = fmt::format("an entity of {} columns", count)};
  }
  ASSIGN_OR_RETURN(auto columns, version <= kInline ? parse_inline(cursor, count) : parse_sections(cursor, count));
  const auto is_unsorted = [](const EntityColumn& a, const EntityColumn& b) {
    return as_text(a.name) >= as_text(b.name);
  };
  if (std::ranges::adjacent_find(columns, is_unsorted) != columns.end()) return damage();
  return columns;
}

void add_columns(Bytes encoded, const Limits& limits, Value::Object& members) {
  const auto columns = parse_entity(encoded, limits);
  if (!columns) return;
  Value::List list;
  for (const EntityColumn& column : *columns) {
    Value::Object shown;
    add_member(shown, "name", column.name);
    add_member(shown, "value", column.value);
    if (column.is_in_blob_file) add_member(shown, "in_blob_file", true);
    list.push_back({std::move(shown)});
  }
  add_member(members, "columns", std::move(list));
}

}  // namespace recordfs::leveldb_table
