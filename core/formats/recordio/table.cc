#include "core/formats/recordio/table.h"

#include <fmt/format.h>

#include "core/base/cursor.h"

namespace recordfs::recordio {
namespace {

constexpr std::size_t kLongestNumber = 10;

Error damage(std::string why) { return {.code = Code::kDamage, .detail = std::move(why)}; }

Error broken_number() { return damage("the table of item sizes holds a number of more than 64 bits"); }

enum class Outcome { kRead, kShort, kBroken };

Outcome read_number(Cursor& cursor, std::uint64_t& number) {
  const bool has_room = cursor.remaining() >= kLongestNumber;
  number = cursor.varint64();
  return cursor.ok() ? Outcome::kRead : has_room ? Outcome::kBroken : Outcome::kShort;
}

}  // namespace

Error cut_table() { return damage("the table of item sizes is cut off"); }

Result<std::optional<Layout>> parse_table(Bytes bytes, std::uint64_t most, const Limits& limits) {
  Cursor cursor(bytes);
  std::uint64_t items = 0;
  const Outcome counted = read_number(cursor, items);
  if (counted == Outcome::kBroken) return broken_number();
  if (counted == Outcome::kShort) return std::optional<Layout>{};
  if (items > most) return damage(fmt::format("{} items declared in {} bytes", items, most));
  if (items > limits.records_per_chunk) {
    return Error{.code = Code::kLimit, .detail = fmt::format("{} items declared in one place", items)};
  }
  const Bytes sizes = cursor.rest();
  for (std::uint64_t i = 0; i < items; ++i) {
    std::uint64_t size = 0;
    const Outcome read = read_number(cursor, size);
    if (read == Outcome::kBroken) return broken_number();
    if (read == Outcome::kShort) return std::optional<Layout>{};
  }

  Layout layout(cursor.offset());
  layout.reserve(items);
  std::uint64_t left = most - cursor.offset();
  Cursor again(sizes);
  for (std::uint64_t i = 0; i < items; ++i) {
    const std::uint64_t size = again.varint64();
    if (size > left) return damage("the item sizes add up to more than the block can hold");
    left -= size;
    layout.add(size);
  }
  return std::optional(std::move(layout));
}

}  // namespace recordfs::recordio
