#include "core/formats/recordio/magic.h"

#include <algorithm>

#include "core/base/cursor.h"

namespace recordfs::recordio {

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

}  // namespace recordfs::recordio
