#include "core/formats/recordio/legacy/packed.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/formats/recordio/table.h"
#include "core/formats/recordio/zstd_window.h"
#include "core/hash/crc32.h"

namespace recordfs::recordio::legacy {
namespace {

constexpr std::uint64_t kFirstPrefix = 4 << 10;
constexpr std::uint64_t kChecksumSize = 4;
constexpr std::uint32_t kZstdMagic = 0xFD2FB528;

Error at_payload(Error error, Position begin) {
  error.position = begin;
  return error;
}

bool is_zstd(Bytes front) { return Cursor(front).u32_le() == kZstdMagic; }

// Exactly `size` bytes, whatever the codec makes of more or less.
std::optional<Buffer> try_codec(CodecId codec, Bytes stored, std::uint64_t size) {
  auto front = decompress_front(codec, stored, size, size);
  if (!front || front->content.size() != size) return std::nullopt;
  return std::move(front->content);
}

}  // namespace

Result<Packed> read_packed(const Source& source, Position begin, std::uint64_t length, const Limits& limits) {
  for (std::uint64_t size = kFirstPrefix;; size *= 4) {
    auto prefix = read_exactly(source, begin, std::min(size, length));
    if (!prefix) return std::move(prefix).error();
    Cursor cursor(prefix->view());
    const std::uint32_t checksum = cursor.u32_le();
    auto table = parse_table(cursor.rest(), UINT64_MAX, limits);
    if (!table) return at_payload(std::move(table).error(), begin);
    if (!*table && size >= length) return at_payload(cut_table(), begin);
    if (!*table) continue;
    const std::uint64_t table_size = (*table)->first_begin();
    if (crc32(cursor.take(table_size)) != checksum) {
      return Error{Code::kDamage, begin, "the checksum of a packed record's item sizes does not match"};
    }
    Packed packed{.layout = Layout(), .items = begin + kChecksumSize + table_size};
    packed.stored = length - kChecksumSize - table_size;
    packed.layout.reserve(std::max<std::uint64_t>((*table)->records(), 1));
    for (std::uint64_t i = 0; i < (*table)->records(); ++i) packed.layout.add((*table)->extent(i).size);
    if (packed.layout.records() == 0) packed.layout.add(0);  // read so by the reference
    if (!packed.is_plain() && packed.layout.total() > limits.decoded_chunk) {
      return Error{Code::kLimit, begin, fmt::format("{} bytes of items in one record", packed.layout.total())};
    }
    return packed;
  }
}

std::string_view codec_word(const Packed& packed, Bytes front) {
  if (packed.is_plain()) return to_string(CodecId::kNone);
  if (is_zstd(front)) return to_string(CodecId::kZstd);
  return packed.layout.total() > packed.stored ? to_string(CodecId::kDeflate) : "-";
}

Result<Buffer> undo_packed(const Packed& packed, Buffer stored, const Limits& limits) {
  const std::uint64_t size = packed.layout.total();
  if (packed.is_plain()) return stored;
  if (is_zstd(stored.view())) {
    if (auto allowed = check_zstd_windows(stored.view(), limits.decoded_chunk); !allowed) {
      return std::move(allowed).error();
    }
    if (auto content = try_codec(CodecId::kZstd, stored.view(), size)) return std::move(*content);
  }
  if (auto content = try_codec(CodecId::kDeflate, stored.view(), size)) return std::move(*content);
  if (size < stored.size()) {
    stored.truncate(static_cast<std::size_t>(size));
    return stored;
  }
  return Error{
      .code = Code::kDamage,
      .detail = fmt::format("{} bytes of items in {} stored bytes, and neither zstd nor flate", size, stored.size())};
}

}  // namespace recordfs::recordio::legacy
