#include "core/formats/recordio/current/wire.h"

#include <array>

#include "core/base/cursor.h"
#include "core/formats/recordio/table.h"
#include "core/hash/crc32.h"

namespace recordfs::recordio {
namespace {

constexpr std::size_t kCoveredBegin = 12;  // the checksum covers all bytes from the flags on

constexpr std::array kMagics{kHeaderMagic, kPackedMagic, kTrailerMagic};

std::optional<Kind> kind_from(std::uint64_t magic) {
  switch (magic) {
    case kHeaderMagic: return Kind::kHeader;
    case kPackedMagic: return Kind::kBody;
    case kTrailerMagic: return Kind::kTrailer;
    default: return std::nullopt;
  }
}

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
  cursor.skip(4);  // flags, which no reader uses
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
  return head.size() < kMagicSize ? is_cut_magic(head, kMagics) : magic_at(head, kMagics).has_value();
}

std::size_t find_magic(Bytes bytes, std::size_t from) { return find_magic(bytes, from, kMagics); }

}  // namespace recordfs::recordio
