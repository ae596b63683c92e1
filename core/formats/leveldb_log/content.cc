#include "core/formats/leveldb_log/content.h"

#include <cstdint>

#include "core/base/cursor.h"

namespace recordfs::leveldb_log {
namespace {

// How an operation of a write batch, or a tag of a version edit, is laid out: one letter a field.
//   v  varint    s  varint length and that many bytes    c  varint column family, counts as one operation
//   f  as v, of a new file: pairs of a tag and a string, ended by tag 1
//   +  counts as one operation
struct Shape {
  std::uint32_t tag;
  std::string_view fields;
};

constexpr Shape kOperations[] = {
    {0x00, "+s"},   {0x01, "+ss"},  {0x02, "+ss"},  {0x03, "s"},    {0x04, "+vs"}, {0x05, "+vss"}, {0x06, "+vss"},
    {0x07, "+s"},   {0x08, "+vs"},  {0x09, ""},     {0x0a, "s"},    {0x0b, "s"},   {0x0c, "s"},    {0x0d, ""},
    {0x0e, "+vss"}, {0x0f, "+ss"},  {0x10, "+vss"}, {0x11, "+ss"},  {0x12, ""},    {0x13, ""},     {0x15, "ss"},
    {0x16, "+ss"},  {0x17, "+vss"}, {0x18, "+ss"},  {0x19, "+vss"},
};

constexpr Shape kEdits[] = {
    {1, "s"},     {2, "v"},   {3, "v"},  {4, "v"},        {5, "vs"},        {6, "vv"},
    {7, "vvvss"}, {9, "v"},   {10, "v"}, {100, "vvvvss"}, {102, "vvvssvv"}, {103, "vvvssvvf"},
    {200, "v"},   {201, "s"}, {202, ""}, {203, "v"},      {300, "v"},
};

constexpr std::uint32_t kMaySkip = 1u << 13;  // a tag with this bit has a length
constexpr std::uint64_t kEndOfPairs = 1;

const Shape* find(std::span<const Shape> shapes, std::uint32_t tag) {
  for (const Shape& shape : shapes) {
    if (shape.tag == tag) return &shape;
  }
  return nullptr;
}

void skip_pairs(Cursor& cursor) {
  while (cursor.ok() && cursor.varint32() != kEndOfPairs) cursor.skip(cursor.varint32());
}

// Returns how many operations the shape counts for.
std::uint32_t skip_fields(Cursor& cursor, std::string_view fields) {
  std::uint32_t counted = 0;
  for (const char field : fields) {
    switch (field) {
      case 'v': cursor.varint64(); break;
      case 's': cursor.skip(cursor.varint32()); break;
      case 'f': skip_pairs(cursor); break;
      default: counted = 1; break;
    }
  }
  return counted;
}

bool is_write_batch(Bytes record) {
  Cursor cursor(record);
  cursor.u64_le();  // sequence
  const std::uint32_t count = cursor.u32_le();
  std::uint32_t found = 0;
  while (cursor.ok() && !cursor.at_end()) {
    const Shape* shape = find(kOperations, cursor.u8());
    if (shape == nullptr) return false;
    found += skip_fields(cursor, shape->fields);
  }
  return cursor.ok() && found == count;
}

bool is_version_edit(Bytes record) {
  Cursor cursor(record);
  while (cursor.ok() && !cursor.at_end()) {
    const std::uint32_t tag = cursor.varint32();
    const Shape* shape = find(kEdits, tag);
    if (shape == nullptr && (tag & kMaySkip) == 0) return false;
    skip_fields(cursor, shape == nullptr ? "s" : shape->fields);
  }
  return cursor.ok() && !record.empty();
}

}  // namespace

std::string_view content_of(Bytes record) {
  if (is_write_batch(record)) return "write-ahead log";
  if (is_version_edit(record)) return "manifest";
  return "opaque";
}

}  // namespace recordfs::leveldb_log
