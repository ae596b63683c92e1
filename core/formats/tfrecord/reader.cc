#include "core/formats/tfrecord/reader.h"

#include <algorithm>
#include <utility>

#include "core/formats/tfrecord/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::uint64_t kLeastWidth = 512;
constexpr std::uint64_t kLargestWidth = 64u << 10;
constexpr std::uint64_t kReadPiece = 256u << 10;

}  // namespace

Result<Bytes> HeaderReader::at(Position at) {
  const std::uint64_t there = source_.size() - std::min(at, source_.size());
  const std::uint64_t wanted = std::min(kHeaderSize, there);
  const Position window_end = begin_ + window_.bytes.size();
  if (at < begin_ || at > window_end || window_end - at < wanted) {
    const bool is_near = at >= begin_ && at < window_end + width_;
    width_ = is_near ? std::min(std::max(width_ * 2, kLeastWidth), kLargestWidth) : kLeastWidth;
    window_ = {};  // its memory may serve for the next
    ASSIGN_OR_RETURN(auto read, source_.view_at(at, width_));
    window_ = std::move(read);
    begin_ = at;
  }
  const Bytes rest = window_.bytes.subspan(static_cast<std::size_t>(at - begin_));
  return rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(kHeaderSize, rest.size())));
}

Result<bool> is_sound(const Source& source, Position begin, std::uint64_t length) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < length;) {
    ASSIGN_OR_RETURN(const auto piece, source.view_at(begin + done, std::min(kReadPiece, length - done)));
    if (piece.bytes.empty()) return false;
    crc = crc32c(piece.bytes, crc);
    done += piece.bytes.size();
  }
  ASSIGN_OR_RETURN(const auto footer, read_up_to(source, begin + length, kFooterSize));
  return footer.size() == kFooterSize && footer_matches(footer.view(), crc);
}

}  // namespace recordfs::tfrecord
