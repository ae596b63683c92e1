#include "core/formats/wandb/ident.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
#include "core/formats/leveldb_log/items.h"

namespace recordfs::wandb {
namespace {

using leveldb_log::Fragment;
using leveldb_log::kFrameSize;
using leveldb_log::kHeaderSize;
using leveldb_log::Role;
using leveldb_log::Verdict;
using leveldb_log::Wire;

struct Writer {
  std::string_view magic;  // name and number
  std::string_view name;
  std::uint8_t first_with_type;  // the first version whose records are protobuf messages
  std::string_view record_type;
};

constexpr std::array kWriters{
    Writer{":W&B\xe1\xbe", "wandb", 0, "wandb_internal.Record"},
    Writer{":SWL\xd6\xe1", "swanlab", 2, "swanlab.record.v1.Record"},
};
constexpr std::size_t kMagicSize = 6;
constexpr std::size_t kNameSize = 4;

// The ident is either in the first frame or before it.
constexpr Wire kWithIdent{Wire::Checksum::kCrc32, false, 0, kIdentSize};
constexpr Wire kBehindIdent{Wire::Checksum::kCrc32, false, kIdentSize, kIdentSize};

enum class Seen : std::uint8_t { kInside, kBefore, kUnknown };

bool is_empty_first(const Fragment& fragment) { return fragment.role == Role::kFirst && fragment.length == 0; }

// Compares the bytes on both sides of the position where the next frame of the first kind begins.
Result<Seen> look_at(const RequestContext& context, const Source& source, Position begin) {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, begin, kFrameSize + kIdentSize));
  if (bytes.size() < kIdentSize) return Seen::kUnknown;
  const Bytes both = bytes.view();
  const auto inside = parse_fragment(both.first(std::min<std::size_t>(both.size(), kFrameSize)), begin, kWithIdent);
  const auto before = parse_fragment(both.subspan(kIdentSize), begin + kIdentSize, kBehindIdent);
  const bool inside_is_sound = inside.verdict == Verdict::kSound;
  const bool before_is_sound = before.verdict == Verdict::kSound;
  // A valid fragment in the last seven bytes of a frame cannot be the start of another: there would be room for more.
  if (before_is_sound && (!inside_is_sound || is_empty_first(inside.fragment))) return Seen::kBefore;
  return inside_is_sound && !before_is_sound ? Seen::kInside : Seen::kUnknown;
}

// Checks the fragments of the first frame: whether one ends, or would end, where only frames after an ident have
// room.
Result<Seen> look_at_first(const RequestContext& context, const Source& source) {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, 0, kIdentSize + kFrameSize));
  for (Position at = kIdentSize; at < bytes.size();) {
    const auto parsed = parse_fragment(bytes.view().subspan(static_cast<std::size_t>(at)), at, kBehindIdent);
    const Position end = parsed.fragment.end();
    const bool is_sound = parsed.verdict == Verdict::kSound;
    const bool is_cut = parsed.verdict == Verdict::kTooLong && at + kHeaderSize <= kFrameSize;
    const bool begins_before = at < kFrameSize || (is_sound && is_empty_first(parsed.fragment));
    const bool ends_behind = end > kFrameSize && end <= kFrameSize + kIdentSize;
    if (begins_before && ends_behind && (is_sound || is_cut)) return Seen::kBefore;
    if (!is_sound) break;
    at = end;
  }
  return Seen::kUnknown;
}

// Checks every byte, in case bytes before the fragments were deleted or inserted.
Result<bool> has_fragment_anywhere(const RequestContext& context, const Source& source) {
  constexpr std::uint64_t kSearchedAtEachByte = 1u << 20;
  for (Position at = 0; at < std::min(kSearchedAtEachByte, source.size()); at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, at, 2 * kFrameSize));
    const std::size_t frame = std::min<std::size_t>(bytes.size(), kFrameSize);
    const leveldb_log::SoundPlaces places(bytes.view(), frame, bytes.size() > frame, kWithIdent, nullptr);
    if (places.next(0)) return true;
  }
  return false;
}

}  // namespace

std::optional<Ident> parse_ident(Bytes head) {
  if (head.size() < kIdentSize) return std::nullopt;
  for (const Writer& writer : kWriters) {
    if (as_text(head.first(kMagicSize)) != writer.magic) continue;
    const std::uint8_t version = Cursor(head.subspan(kMagicSize)).u8();
    return Ident{writer.name, version >= writer.first_with_type ? writer.record_type : std::string_view(), version};
  }
  return std::nullopt;
}

std::size_t cut_ident(Bytes head) {
  if (head.size() < kNameSize || head.size() > kMagicSize) return 0;
  const bool is_known =
      std::ranges::any_of(kWriters, [&](const Writer& writer) { return writer.magic.starts_with(as_text(head)); });
  return is_known ? head.size() : 0;
}

Result<Wire> find_wire(const RequestContext& context, const Source& source, std::uint64_t most) {
  auto seen = look_at_first(context, source);
  if (!seen) return std::move(seen).error();
  const Position end = std::min(most, source.size());
  for (Position at = kFrameSize; *seen == Seen::kUnknown && at < end; at += kFrameSize) {
    seen = look_at(context, source, at);
    if (!seen) return std::move(seen).error();
  }
  return *seen == Seen::kBefore ? kBehindIdent : kWithIdent;
}

Result<bool> has_fragment(const RequestContext& context, const Source& source, std::uint64_t most) {
  ASSIGN_OR_RETURN(const auto first, read_up_to(context, source, kIdentSize, kFrameSize));
  if (is_sound(first.view(), kBehindIdent)) return true;
  const Position end = std::min(most, source.size());
  for (Position at = kFrameSize; at < end; at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, at, kFrameSize + kIdentSize));
    if (is_sound(bytes.view(), kWithIdent)) return true;
    if (bytes.size() > kIdentSize && is_sound(bytes.view().subspan(kIdentSize), kBehindIdent)) return true;
  }
  return has_fragment_anywhere(context, source);
}

}  // namespace recordfs::wandb
