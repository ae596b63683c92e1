#include <algorithm>

#include "core/formats/leveldb_log/items.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::uint64_t kMaxFrames = 16;

}  // namespace

Result<Bytes> FrameReader::rest_of_frame(Position at) {
  const Position end = std::min(frame_end(at), source_->size());
  if (at < begin_ || end - begin_ > filled_) {
    if (auto done = fill(frame_begin(at)); !done) return std::move(done).error();
  }
  return window_.view().subspan(static_cast<std::size_t>(at - begin_), static_cast<std::size_t>(end - at));
}

Result<void> FrameReader::fill(Position begin) {
  const std::uint64_t wanted = std::min(next_frames_ * kFrameSize, source_->size() - begin);
  if (window_.size() < wanted) {
    auto window = Buffer::allocate(static_cast<std::size_t>(wanted));
    if (!window) return std::move(window).error();
    window_ = std::move(*window);
  }
  filled_ = 0;
  auto got = source_->read_at(begin, window_.span().first(static_cast<std::size_t>(wanted)));
  if (!got) return std::move(got).error();
  if (*got < wanted) return Error{Code::kChanged, begin + *got, "the file is shorter than when it was opened"};
  begin_ = begin;
  filled_ = wanted;
  next_frames_ = std::min(next_frames_ * 2, kMaxFrames);
  return {};
}

}  // namespace recordfs::leveldb_log
