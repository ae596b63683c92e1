#include "core/formats/recordio/legacy/packed.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/formats/recordio/table.h"
#include "core/hash/crc32.h"

namespace recordfs::recordio::legacy {
namespace {

constexpr std::uint64_t kFirstPrefix = 4 << 10;
constexpr std::uint64_t kChecksumSize = 4;
constexpr std::uint32_t kZstdMagic = 0xFD2FB528;
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;
constexpr std::uint32_t kSkippableMask = 0xFFFFFFF0;
constexpr unsigned kStoredBlock = 0;  // a block type of deflate
constexpr unsigned kNoBlock = 3;
constexpr int kDamagedBits = 8;  // a mark with up to this many wrong bits still counts as the mark

Error at_payload(Error error, Position begin) {
  error.position = begin;
  return error;
}

bool is_zstd(Bytes front) { return Cursor(front).u32_le() == kZstdMagic; }

// Decodes exactly `size` bytes. Returns nullopt if the output is shorter or longer, or if decoding fails.
Result<std::optional<Buffer>> try_codec(CodecId codec, Bytes stored, std::uint64_t size, const Limits& limits) {
  auto content = decompress_exactly(codec, stored, size, Tail::kIgnored, limits.decoded_chunk);
  if (content) return std::optional(std::move(*content));
  if (content.error().code != Code::kDamage) return std::move(content).error();
  return std::optional<Buffer>{};
}

bool is_near(std::uint32_t found, std::uint32_t due) { return std::popcount(found ^ due) <= kDamagedBits; }

// Returns whether `front` resembles a zstd magic with a few damaged bits.
bool is_near_zstd(Bytes front) {
  const std::uint32_t magic = Cursor(front).u32_le();
  return is_near(magic, kZstdMagic) || is_near(magic & kSkippableMask, kSkippableMagic);
}

// The same for deflate, which has no magic. Data that deflate cannot shrink is in stored blocks, which begin with a
// length and its complement. Any other first block fails after its beginning.
bool is_near_deflate(Bytes front) {
  Cursor cursor(front);
  const unsigned type = cursor.u8() >> 1 & 3;
  const std::uint16_t length = cursor.u16_le();
  const std::uint16_t complement = cursor.u16_le();
  return !cursor.ok() || (type != kStoredBlock && type != kNoBlock) || is_near(length ^ 0xFFFFu, complement);
}

// Returns whether deflate gives `size` bytes if the type of the first block is changed.
Result<bool> is_deflate_of_another_type(Buffer& stored, std::uint64_t size, const Limits& limits) {
  std::byte& first = stored.span()[0];
  const std::byte kept = first;
  Result<bool> found = false;
  for (const auto type : {std::byte{0x02}, std::byte{0x04}}) {
    first = (kept & ~std::byte{0x06}) | type;
    auto content = try_codec(CodecId::kDeflate, stored.view(), size, limits);
    if (!content)
      found = std::move(content).error();
    else if (*content)
      found = true;
    if (!found || *found) break;
  }
  first = kept;
  return found;
}

}  // namespace

Result<Packed> read_packed(const Source& source, Position begin, std::uint64_t length, const Limits& limits) {
  for (std::uint64_t size = kFirstPrefix;; size *= 4) {
    ASSIGN_OR_RETURN(const auto prefix, read_exactly(source, begin, std::min(size, length)));
    Cursor cursor(prefix.view());
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
    if (packed.layout.records() == 0) packed.layout.add(0);  // as the reference reads it
    if (!packed.is_plain() && packed.layout.total() > limits.decoded_chunk) {
      return Error{Code::kLimit, begin,
                   fmt::format("{} bytes of items in one record exceed the limit", packed.layout.total())};
    }
    return packed;
  }
}

std::string_view codec_word(const Packed& packed, Bytes front) {
  if (is_zstd(front)) return to_string(CodecId::kZstd);
  return packed.layout.total() > packed.stored ? to_string(CodecId::kDeflate) : "-";
}

Result<Buffer> undo_packed(const Packed& packed, Buffer stored, const Limits& limits) {
  const std::uint64_t size = packed.layout.total();
  if (packed.is_plain()) return stored;
  const bool has_zstd_magic = is_zstd(stored.view());
  // No deflate stream begins like zstd.
  ASSIGN_OR_RETURN(auto content,
                   try_codec(has_zstd_magic ? CodecId::kZstd : CodecId::kDeflate, stored.view(), size, limits));
  if (content) return std::move(*content);
  if (size < stored.size() && !is_near_zstd(stored.view()) && !is_near_deflate(stored.view())) {
    ASSIGN_OR_RETURN(const auto other, is_deflate_of_another_type(stored, size, limits));
    if (!other) {
      stored.truncate(static_cast<std::size_t>(size));
      return stored;
    }
  }
  const std::string_view tried = has_zstd_magic ? "corrupt zstd data" : "neither zstd nor flate";
  return Error{.code = Code::kDamage,
               .detail = fmt::format("cannot decompress {} of items from {}: {}", counted(size, "byte"),
                                     counted(stored.size(), "stored byte"), tried)};
}

}  // namespace recordfs::recordio::legacy
