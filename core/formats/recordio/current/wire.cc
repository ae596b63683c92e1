#include "core/formats/recordio/current/wire.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
#include "core/formats/recordio/magic.h"
#include "core/hash/crc32.h"

namespace recordfs::recordio {
namespace {

constexpr std::size_t kCoveredBegin = 12;  // the checksum covers all from the flags on

constexpr std::array kMagics{kHeaderMagic, kPackedMagic, kTrailerMagic};

std::optional<Kind> kind_from(std::uint64_t magic) {
  switch (magic) {
    case kHeaderMagic: return Kind::kHeader;
    case kPackedMagic: return Kind::kBody;
    case kTrailerMagic: return Kind::kTrailer;
    default: return std::nullopt;
  }
}

constexpr std::byte first_byte(std::uint64_t magic) { return static_cast<std::byte>(magic & 0xff); }

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::kHeader: return "header";
    case Kind::kBody: return "body";
    case Kind::kTrailer: return "trailer";
  }
  return "body";
}

Kind kind_of(std::string_view word) {
  for (const Kind kind : {Kind::kHeader, Kind::kTrailer}) {
    if (word == to_string(kind)) return kind;
  }
  return Kind::kBody;
}

std::optional<FrameHeader> parse_frame_header(Bytes head) {
  Cursor cursor(head);
  const auto kind = kind_from(cursor.u64_le());
  FrameHeader header;
  header.checksum = cursor.u32_le();
  cursor.skip(4);  // flags, which no reader looks at
  header.size = cursor.u32_le();
  header.total = cursor.u32_le();
  header.index = cursor.u32_le();
  if (!cursor.ok() || !kind || header.size > kLargestFragment || header.index >= header.total) return std::nullopt;
  header.kind = *kind;
  return header;
}

bool checksum_matches(const FrameHeader& header, Bytes frame) {
  const auto used = static_cast<std::size_t>(header.used());
  return crc32(frame.subspan(kCoveredBegin, used - kCoveredBegin)) == header.checksum;
}

bool is_cut_header(Bytes head) {
  Cursor cursor(head);
  if (head.size() >= kMagicSize) return kind_from(cursor.u64_le()).has_value();
  std::uint64_t start = 0;
  for (unsigned shift = 0; !cursor.at_end(); shift += 8) start |= std::uint64_t{cursor.u8()} << shift;
  const std::uint64_t mask = (std::uint64_t{1} << (8 * head.size())) - 1;
  return std::ranges::any_of(kMagics, [&](std::uint64_t magic) { return (magic & mask) == start; });
}

std::size_t find_magic(Bytes bytes, std::size_t from) {
  for (std::size_t at = from; at < bytes.size(); ++at) {
    const std::byte first = bytes[at];
    const bool may_be =
        first == first_byte(kHeaderMagic) || first == first_byte(kPackedMagic) || first == first_byte(kTrailerMagic);
    if (may_be && kind_from(Cursor(bytes.subspan(at)).u64_le())) return at;
  }
  return bytes.size();
}

}  // namespace recordfs::recordio
