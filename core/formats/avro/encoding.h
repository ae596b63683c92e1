// The elements of Avro's binary encoding. FORMAT.md, "Layout".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/cursor.h"

namespace recordfs::avro {

// Returns the next int or long. Fails as Cursor::varint64().
inline std::int64_t read_long(Cursor& cursor) {
  const std::uint64_t number = cursor.varint64();
  return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
}

// Returns the next long, which counts bytes. The cursor fails if it is negative.
inline std::uint64_t read_size(Cursor& cursor) {
  const std::int64_t size = read_long(cursor);
  if (size < 0) cursor.fail();
  return cursor.ok() ? static_cast<std::uint64_t>(size) : 0;
}

// Returns the next long, which selects one of `count`. The cursor fails, and the result is nullopt, for another one.
inline std::optional<std::size_t> read_index(Cursor& cursor, std::size_t count) {
  const std::uint64_t index = read_size(cursor);
  if (cursor.ok() && index < count) return static_cast<std::size_t>(index);
  cursor.fail();
  return std::nullopt;
}

// The beginning of a block of an array or a map.
struct ListBlock {
  std::uint64_t count = 0;               // of items; 0: the end
  std::optional<std::uint64_t> bytes{};  // of all items, if they are stated
};

// Reads the beginning of a block whose items have at least `least` bytes each. The cursor fails, and the count is 0, if
// the rest is too short for them.
inline ListBlock read_list_block(Cursor& cursor, std::uint64_t least) {
  const std::int64_t number = read_long(cursor);
  ListBlock block{.count = static_cast<std::uint64_t>(number)};
  if (number < 0) {
    block.count = ~block.count + 1;
    block.bytes = read_size(cursor);
    if (*block.bytes > cursor.remaining()) cursor.fail();
  }
  if (least > 0 && block.count > cursor.remaining() / least) cursor.fail();
  if (!cursor.ok()) block.count = 0;
  return block;
}

}  // namespace recordfs::avro
