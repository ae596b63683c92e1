#include "core/formats/tfrecord/search.h"

#include <algorithm>
#include <utility>

#include "core/base/cursor.h"
#include "core/formats/tfrecord/reader.h"
#include "core/formats/tfrecord/wire.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::uint64_t kSearchWindow = 64u << 10;
constexpr std::uint64_t kFirstWindow = 1u << 10;    // most searches end within this
constexpr std::uint64_t kMostVerified = 64u << 20;  // a longer record is accepted by its length alone

constexpr std::uint64_t kMostSearchedInside = 2 * kMostVerified;  // of a record that was cut short

// Returns the offset of the first possible header in `window`, for a record of at most `most` - offset bytes of data;
// nullopt if there is none.
std::optional<std::size_t> find_header(Bytes window, std::uint64_t most) {
  for (std::size_t offset = 0; window.size() - offset >= kHeaderSize && offset <= most; ++offset) {
    const Bytes header = window.subspan(offset, kHeaderSize);
    if (Cursor(header).u64_le() <= most - offset && sound_length(header)) return offset;
  }
  return std::nullopt;
}

}  // namespace

Result<Found> search(const Source& source, Position from, std::uint64_t budget) {
  const Position size = source.size();
  std::uint64_t spent = 0;
  std::uint64_t wanted = kFirstWindow;
  for (Position at = from; at < size && size - at >= kFrameSize; wanted = std::min(2 * wanted, kSearchWindow)) {
    if (spent >= budget) return Found{Found::Kind::kLater, at};
    ASSIGN_OR_RETURN(const auto window, read_up_to(source, at, wanted));
    if (window.size() < kHeaderSize) break;
    spent += window.size();
    const auto offset = find_header(window.view(), size - at - kFrameSize);
    if (!offset) {
      ASSIGN_OR_RETURN(const auto data, behind_hole(source, at + window.size(), window.view()));
      // The hole may end inside a header that begins with zeros.
      at = data - (kHeaderSize - 1);
      continue;
    }
    at += *offset;
    const std::uint64_t length = Cursor(window.view().subspan(*offset)).u64_le();
    if (length > kMostVerified) return Found{Found::Kind::kRecord, at};
    ASSIGN_OR_RETURN(const auto sound, is_sound(source, at + kHeaderSize, length));
    if (sound) return Found{Found::Kind::kRecord, at};
    spent += length;
    ++at;
  }
  return Found{};
}

Result<std::optional<Position>> end_of_damaged(const Source& source, Position at) {
  const std::uint64_t there = source.size() - at;
  if (there < kFrameSize) return std::optional<Position>{};
  ASSIGN_OR_RETURN(const auto header, read_up_to(source, at, kHeaderSize));
  const auto length = corrected_length(header.view(), there - kFrameSize);
  if (!length) return std::optional<Position>{};
  const Position end = at + kFrameSize + *length;
  ASSIGN_OR_RETURN(const auto next, read_up_to(source, end, kHeaderSize));
  if (next.empty() || sound_length(next.view())) return std::optional(end);
  if (*length > kMostVerified) return std::optional<Position>{};
  ASSIGN_OR_RETURN(const auto sound, is_sound(source, at + kHeaderSize, *length));
  return sound ? std::optional(end) : std::nullopt;
}

Result<std::optional<Position>> cut_short_at(const Source& source, Position at, Position end) {
  const std::optional<Position> none;
  if (end - at > kMostVerified) return none;
  ASSIGN_OR_RETURN(const auto end_of_record, end_of_damaged(source, end));
  if (end_of_record) return none;
  ASSIGN_OR_RETURN(const auto sound, is_sound(source, at + kHeaderSize, end - at - kFrameSize));
  if (sound) return none;
  for (Position from = at + 1; from < end;) {
    ASSIGN_OR_RETURN(const auto found, search(source, from, kMostSearchedInside));
    if (found.kind != Found::Kind::kRecord || found.at >= end) return none;
    WindowedReader headers = header_reader(source);
    Position next = found.at;
    while (next < end) {
      ASSIGN_OR_RETURN(const auto header, headers.from(next, kHeaderSize));
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
