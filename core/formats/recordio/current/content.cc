#include "core/formats/recordio/current/content.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/formats/recordio/table.h"

namespace recordfs::recordio {
namespace {

constexpr std::uint32_t kZstdMagic = 0xFD2FB528;

}  // namespace

Result<Transform::Content> as_stored(Buffer stored, const Limits& limits) {
  ASSIGN_OR_RETURN(auto table, parse_table(stored.view(), stored.size(), limits));
  if (!table) return cut_table();
  if (table->end() != stored.size()) {
    return Error{.code = Code::kDamage,
                 .detail = fmt::format("the items of the block take {}, the block {}", counted(table->end(), "byte"),
                                       stored.size())};
  }
  if (stored.size() > limits.decoded_chunk) {
    return Error{.code = Code::kLimit, .detail = fmt::format("{} bytes in one block exceed the limit", stored.size())};
  }
  return Transform::Content{std::move(stored), std::move(*table)};
}

Result<Transform::Content> by_trial(Buffer stored, const Limits& limits) {
  const bool is_zstd = Cursor(stored.view()).u32_le() == kZstdMagic;
  auto undone = Transform({is_zstd ? CodecId::kZstd : CodecId::kDeflate}).undo(stored.view(), limits);
  if (undone ? is_zstd : !is_permanent(undone.error().code)) return undone;
  auto plain = as_stored(std::move(stored), limits);
  if (plain || !is_permanent(plain.error().code)) return plain;
  if (undone) return undone;
  return Error{.code = Code::kUnsupported, .detail = "the header block, which names the transformers, is lost"};
}

}  // namespace recordfs::recordio
