#include <algorithm>

#include "core/formats/leveldb_log/items.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::uint64_t kMaxFrames = 16;

}  // namespace

Result<Bytes> FrameReader::rest_of_frame(Position at) {
  const Position end = std::min(wire_.frame_end(at), source_->size());
  if (at < begin_ || end - begin_ > window_.bytes.size()) {
    TRY(fill(wire_.frame_begin(at)));
  }
  return window_.bytes.subspan(static_cast<std::size_t>(at - begin_), static_cast<std::size_t>(end - at));
}

Result<Bytes> FrameReader::largest_fragment(Position at) {
  const std::uint64_t wanted = std::min(kFrameSize, source_->size() - at);
  if (at >= begin_ && at - begin_ <= window_.bytes.size() && wanted <= window_.bytes.size() - (at - begin_)) {
    return window_.bytes.subspan(static_cast<std::size_t>(at - begin_), static_cast<std::size_t>(wanted));
  }
  ASSIGN_OR_RETURN(auto read, read_exactly(*source_, at, wanted));
  crossing_ = std::move(read);
  return crossing_.view();
}

Result<void> FrameReader::fill(Position begin) {
  const std::uint64_t wanted = std::min(next_frames_ * kFrameSize, source_->size() - begin);
  window_ = {};  // releases memory that the next read can use
  ASSIGN_OR_RETURN(auto got, source_->view_at(begin, wanted));
  if (got.bytes.size() < wanted) {
    return Error{Code::kChanged, begin + got.bytes.size(), "the file is shorter than when it was opened"};
  }
  begin_ = begin;
  window_ = std::move(got);
  next_frames_ = std::min(next_frames_ * 2, kMaxFrames);
  return {};
}

}  // namespace recordfs::leveldb_log
