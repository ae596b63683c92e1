#include "core/formats/tfrecord/wire.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
#include "core/hash/crc32c.h"
#include "core/hash/wrong_byte.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::size_t kLengthSize = 8;

std::uint32_t stored_checksum(Bytes header) { return Cursor(header.subspan(kLengthSize)).u32_le(); }

std::uint32_t checksum_of(Bytes length) { return mask_crc(crc32c(length)); }

constexpr std::uint64_t kReadPiece = 256u << 10;
constexpr std::uint64_t kSearchWindow = 64u << 10;
constexpr std::uint64_t kFirstWindow = 1u << 10;                  // most searches end within this
constexpr std::uint64_t kMostVerified = 64u << 20;                // a longer record is accepted by its length alone
constexpr std::uint64_t kMostSearchedInside = 2 * kMostVerified;  // of a record that was cut short

// Returns the offset of the first possible header of a record with at most `most` bytes of data.
std::size_t find_header(Bytes window, std::uint64_t most) {
  for (std::size_t offset = 0; window.size() - offset >= kHeaderSize; ++offset) {
    const Bytes header = window.subspan(offset);
    if (Cursor(header).u64_le() <= most && sound_length(header)) return offset;
  }
  return window.size();
}

// Returns the length of a header whose checksum does not match, but would with one other byte in the length or the
// checksum. Returns nullopt if no such length is at most `most`. Any thread.
std::optional<std::uint64_t> corrected_length(Bytes header, std::uint64_t most) {
  if (header.size() < kHeaderSize) return std::nullopt;
  std::array<std::byte, kLengthSize> length;
  std::ranges::copy(header.first(kLengthSize), length.begin());
  const auto is_possible = [&] { return Cursor(length).u64_le() <= most; };
  const bool is_corrected = correct_one_byte(length, stored_checksum(header), is_possible);
  return is_corrected ? std::optional(Cursor(length).u64_le()) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> sound_length(Bytes header) {
  if (header.size() < kHeaderSize) return std::nullopt;
  if (checksum_of(header.first(kLengthSize)) != stored_checksum(header)) return std::nullopt;
  return Cursor(header).u64_le();
}

bool footer_matches(Bytes footer, std::uint32_t crc) { return Cursor(footer).u32_le() == mask_crc(crc); }

Result<bool> is_sound(const RequestContext& context, const Source& source, Position begin, std::uint64_t length) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < length;) {
    ASSIGN_OR_RETURN(const auto piece, source.view_at(context, begin + done, std::min(kReadPiece, length - done)));
    if (piece.bytes.empty()) return false;
    crc = crc32c(piece.bytes, crc);
    done += piece.bytes.size();
  }
  ASSIGN_OR_RETURN(const auto footer, read_up_to(context, source, begin + length, kFooterSize));
  return footer.size() == kFooterSize && footer_matches(footer.view(), crc);
}

Result<ResyncResult> search(const RequestContext& context, const Source& source, Position from, std::uint64_t budget) {
  WindowedReader windows(source, kFirstWindow, kSearchWindow);
  std::uint64_t verified = 0;
  const auto test = [&](Position at, Bytes header) -> Result<Position> {
    const std::uint64_t length = Cursor(header).u64_le();
    if (length > source.size() - at - kFrameSize) return at + 1;
    if (length > kMostVerified) return at;
    ASSIGN_OR_RETURN(const auto sound, is_sound(context, source, at + kHeaderSize, length));
    verified += length;
    return sound ? at : at + 1;
  };
  const auto find = [&](Bytes window) { return find_header(window, source.size()); };
  const auto is_spent = [&](Position) { return windows.bytes_read() + verified >= budget; };
  return resync(context, windows, from, {kFrameSize, find, test, is_spent});
}

Result<std::optional<Position>> end_of_damaged(const RequestContext& context, const Source& source, Position at) {
  const std::uint64_t there = source.size() - at;
  if (there < kFrameSize) return std::optional<Position>{};
  ASSIGN_OR_RETURN(const auto header, read_up_to(context, source, at, kHeaderSize));
  const auto length = corrected_length(header.view(), there - kFrameSize);
  if (!length) return std::optional<Position>{};
  const Position end = at + kFrameSize + *length;
  ASSIGN_OR_RETURN(const auto next, read_up_to(context, source, end, kHeaderSize));
  if (next.empty() || sound_length(next.view())) return std::optional(end);
  if (*length > kMostVerified) return std::optional<Position>{};
  ASSIGN_OR_RETURN(const auto sound, is_sound(context, source, at + kHeaderSize, *length));
  return sound ? std::optional(end) : std::nullopt;
}

Result<std::optional<Position>> cut_short_at(const RequestContext& context, const Source& source, Position at,
                                             Position end) {
  const std::optional<Position> none;
  if (end - at > kMostVerified) return none;
  ASSIGN_OR_RETURN(const auto end_of_record, end_of_damaged(context, source, end));
  if (end_of_record) return none;
  ASSIGN_OR_RETURN(const auto sound, is_sound(context, source, at + kHeaderSize, end - at - kFrameSize));
  if (sound) return none;
  for (Position from = at + 1; from < end;) {
    ASSIGN_OR_RETURN(const auto found, search(context, source, from, kMostSearchedInside));
    if (found.kind != ResyncResult::Kind::kFound || found.at >= end) return none;
    WindowedReader headers = header_reader(source);
    Position next = found.at;
    while (next < end) {
      ASSIGN_OR_RETURN(const auto header, headers.from(context, next, kHeaderSize));
      const auto length = sound_length(header);
      const std::uint64_t there = source.size() - next;
      if (!length || there < kFrameSize || *length > there - kFrameSize) break;
      next += kFrameSize + *length;
    }
    if (next > end) return std::optional(found.at);
    from = next == found.at ? next + 1 : next;
  }
  return none;
}

}  // namespace recordfs::tfrecord
