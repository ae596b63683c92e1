#include "tests/toy/toy_parts.h"

#include <utility>

#include "core/base/cursor.h"

namespace recordfs::toy {
namespace {

// Takes the next part; returns nullopt if the record is malformed.
std::optional<Part> take_part(Cursor& cursor, const Parts& before) {
  const std::uint32_t parent = cursor.u32_le();
  const std::uint32_t kind = cursor.u32_le();
  const Bytes key = cursor.take(cursor.u32_le());
  const Bytes bytes = cursor.take(cursor.u32_le());
  if (!cursor.ok() || kind > static_cast<std::uint32_t>(PartKind::kText) || parent > before.size()) return std::nullopt;
  Part part;
  part.key = as_text(key);
  part.kind = static_cast<PartKind>(kind);
  if (parent > 0) {
    part.parent = parent - 1;
    if (before[*part.parent].kind != PartKind::kDirectory) return std::nullopt;
  }
  if (part.kind == PartKind::kText) part.text = as_text(bytes);
  if (part.kind == PartKind::kSlice) {
    part.extent = {cursor.offset() - bytes.size(), bytes.size()};
  }
  return part;
}

}  // namespace

Result<Parts> parse_parts(Bytes record, const Limits& limits) {
  Parts parts;
  Cursor cursor(record);
  while (!cursor.at_end()) {
    if (parts.size() >= limits.parts_per_record) return Error{.code = Code::kLimit, .detail = "too many parts"};
    auto part = take_part(cursor, parts);
    if (!part) return Error{.code = Code::kDamage, .detail = "the parts do not add up"};
    parts.push_back(std::move(*part));
  }
  return parts;
}

}  // namespace recordfs::toy
