#include "core/formats/recordio/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/base/protobuf.h"

namespace recordfs::recordio {
namespace {

constexpr std::size_t kLongestNumber = 10;

Error damage(std::string why) { return {.code = Code::kDamage, .detail = std::move(why)}; }

Error broken_number() { return damage("the table of item sizes holds a number of more than 64 bits"); }

struct Sizes {
  std::optional<std::uint64_t> length;  // of all sizes together; nullopt: the bytes end first
  bool is_broken = false;               // a number does not end within kLongestNumber bytes
};

// Measures `count` varints at the start of `bytes` by their last bytes alone.
Sizes find_sizes(Bytes bytes, std::uint64_t count) {
  std::size_t length = 0;  // of the current number
  std::size_t at = 0;
  for (; at < bytes.size() && count > 0; ++at) {
    const bool is_end = bytes[at] < std::byte{0x80};
    count -= is_end ? 1 : 0;
    length = is_end ? 0 : length + 1;
    if (length == kLongestNumber) return {.length = std::nullopt, .is_broken = true};
  }
  return {.length = count == 0 ? std::optional<std::uint64_t>(at) : std::nullopt};
}

}  // namespace

std::optional<std::uint64_t> magic_at(Bytes bytes, Magics magics) {
  Cursor cursor(bytes);
  const std::uint64_t magic = cursor.u64_le();
  if (!cursor.ok() || std::ranges::find(magics, magic) == magics.end()) return std::nullopt;
  return magic;
}

bool is_cut_magic(Bytes bytes, Magics magics) {
  std::uint64_t start = 0;
  Cursor cursor(bytes);
  for (unsigned shift = 0; !cursor.at_end(); shift += 8) start |= std::uint64_t{cursor.u8()} << shift;
  const std::uint64_t mask = (std::uint64_t{1} << (8 * bytes.size())) - 1;
  return std::ranges::any_of(magics, [&](std::uint64_t magic) { return (magic & mask) == start; });
}

std::size_t find_magic(Bytes bytes, std::size_t from, Magics magics) {
  for (std::size_t at = from; at < bytes.size(); ++at) {
    const bool may_be = std::ranges::any_of(
        magics, [first = bytes[at]](std::uint64_t magic) { return first == static_cast<std::byte>(magic & 0xff); });
    if (may_be && magic_at(bytes.subspan(at), magics)) return at;
  }
  return bytes.size();
}

Error cut_table() { return damage("truncated table of item sizes"); }

Result<std::optional<Layout>> parse_table(const RequestContext& context, Bytes bytes, std::uint64_t most,
                                          const Limits& limits) {
  Cursor cursor(bytes);
  const bool has_room = cursor.remaining() >= kLongestNumber;
  const std::uint64_t items = cursor.varint64();
  if (!cursor.ok() && has_room) return broken_number();
  if (!cursor.ok()) return std::optional<Layout>{};
  if (items > most) return damage(fmt::format("{} declared in {}", counted(items, "item"), counted(most, "byte")));
  if (items > limits.records_per_chunk) {
    return Error{.code = Code::kLimit, .detail = fmt::format("{} items declared in one table exceed the limit", items)};
  }
  const Sizes sizes = find_sizes(cursor.rest(), items);
  if (sizes.is_broken) return broken_number();
  if (!sizes.length) return std::optional<Layout>{};

  const std::uint64_t begin = cursor.offset() + *sizes.length;
  Layout layout(begin);
  layout.reserve(context, items);
  std::uint64_t left = most - begin;
  for (std::uint64_t i = 0; i < items; ++i) {
    const std::uint64_t size = cursor.varint64();
    if (!cursor.ok()) return broken_number();
    if (size > left) return damage("the item sizes add up to more than the block can hold");
    left -= size;
    layout.add(context, size);
  }
  return std::optional(std::move(layout));
}

std::optional<std::uint64_t> take_records(Bytes content, const Limits& limits, std::vector<Bytes>& records) {
  Cursor cursor(content);
  const std::uint64_t items = cursor.varint64();
  if (!cursor.ok() || items > std::min<std::uint64_t>(content.size(), limits.records_per_chunk)) return std::nullopt;
  const Sizes sizes = find_sizes(cursor.rest(), items);
  if (!sizes.length) return std::nullopt;
  Bytes rest = cursor.rest().subspan(static_cast<std::size_t>(*sizes.length));
  const std::uint64_t sum = rest.size();
  for (std::uint64_t i = 0; i < items; ++i) {
    const std::uint64_t size = cursor.varint64();
    if (!cursor.ok() || size > rest.size()) return std::nullopt;
    records.push_back(rest.first(static_cast<std::size_t>(size)));
    rest = rest.subspan(static_cast<std::size_t>(size));
  }
  return rest.empty() ? std::optional(sum) : std::nullopt;
}

void append_content(std::string& out, std::span<const Bytes> records) {
  protobuf::append_varint(out, records.size());
  for (const Bytes record : records) protobuf::append_varint(out, record.size());
  for (const Bytes record : records) out += as_text(record);
}

}  // namespace recordfs::recordio
