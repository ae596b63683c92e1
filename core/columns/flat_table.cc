#include "core/columns/flat_table.h"

#include <algorithm>
#include <cstring>

namespace recordfs {
namespace {

void align(std::string& out, std::size_t alignment) {
  out.resize((out.size() + alignment - 1) / alignment * alignment);
}

template <class Number>
void put(std::string& out, std::size_t at, Number number) {
  std::string bytes;
  append_le(bytes, number);
  out.replace(at, bytes.size(), bytes);
}

// Stores the distance from `at` to `target`, which follows it.
void put_offset(std::string& out, std::size_t at, std::size_t target) {
  put(out, at, static_cast<std::uint32_t>(target - at));
}

}  // namespace

FlatTable::Field& FlatTable::add(std::size_t slot, Kind kind) {
  return fields_.emplace_back(Field{.slot = slot, .kind = kind});
}

FlatTable& FlatTable::text(std::size_t slot, std::string value) {
  add(slot, Kind::kText).bytes = std::move(value);
  return *this;
}

FlatTable& FlatTable::table(std::size_t slot, FlatTable value) {
  add(slot, Kind::kTable).children.push_back(std::move(value));
  return *this;
}

FlatTable& FlatTable::tables(std::size_t slot, std::vector<FlatTable> values) {
  add(slot, Kind::kTables).children = std::move(values);
  return *this;
}

FlatTable& FlatTable::structs(std::size_t slot, std::size_t count, std::string bytes) {
  Field& field = add(slot, Kind::kStructs);
  field.count = count;
  field.bytes = std::move(bytes);
  return *this;
}

std::string FlatTable::buffer() const {
  std::string out(4, '\0');
  put_offset(out, 0, write(out));
  align(out, FlatTable::kAlignment);
  return out;
}

// Appends the table: its vtable, its fields, and then what they refer to. Returns where the table begins.
std::size_t FlatTable::write(std::string& out) const {
  std::size_t slots = 0;
  for (const Field& field : fields_) slots = std::max(slots, field.slot + 1);
  const std::size_t vtable_size = 4 + 2 * slots;
  align(out, 2);
  while ((out.size() + vtable_size) % FlatTable::kAlignment != 0) out.push_back('\0');
  const std::size_t vtable = out.size();
  const std::size_t begin = vtable + vtable_size;
  out.resize(begin);
  append_le(out, static_cast<std::uint32_t>(vtable_size));  // the distance back to the vtable
  std::vector<std::size_t> places;
  places.reserve(fields_.size());
  for (const Field& field : fields_) {
    align(out, field.size);
    places.push_back(out.size());
    put(out, vtable + 4 + 2 * field.slot, static_cast<std::uint16_t>(out.size() - begin));
    out += field.kind == Kind::kNumber ? field.bytes : std::string(field.size, '\0');
  }
  put(out, vtable, static_cast<std::uint16_t>(vtable_size));
  put(out, vtable + 2, static_cast<std::uint16_t>(out.size() - begin));
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].kind != Kind::kNumber) put_offset(out, places[i], write_content(out, fields_[i]));
  }
  return begin;
}

// Appends what a field refers to. Returns where it begins.
std::size_t FlatTable::write_content(std::string& out, const Field& field) {
  if (field.kind == Kind::kTable) return field.children.front().write(out);
  align(out, 4);
  if (field.kind == Kind::kStructs && out.size() % FlatTable::kAlignment == 0) out.resize(out.size() + 4);
  const std::size_t begin = out.size();
  const std::size_t count = field.kind == Kind::kText      ? field.bytes.size()
                            : field.kind == Kind::kStructs ? field.count
                                                           : field.children.size();
  append_le(out, static_cast<std::uint32_t>(count));
  if (field.kind == Kind::kTables) {
    const std::size_t offsets = out.size();
    out.resize(offsets + 4 * count);
    for (std::size_t i = 0; i < count; ++i) put_offset(out, offsets + 4 * i, field.children[i].write(out));
    return begin;
  }
  out += field.bytes;
  if (field.kind == Kind::kText) out.push_back('\0');
  return begin;
}

}  // namespace recordfs
