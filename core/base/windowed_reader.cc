#include "core/base/windowed_reader.h"

namespace recordfs {

Result<Bytes> WindowedReader::from(const RequestContext& context, Position at, std::uint64_t least) {
  if (const auto bytes = held(at, least)) return *bytes;
  const bool is_near = at >= begin_ && at - begin_ < window_.bytes.size() + width_;
  width_ = is_near ? std::min(width_ * 2, largest_) : first_width_;
  const std::uint64_t wanted = std::min(width_, source_->size() - std::min(at, source_->size()));
  window_ = {};  // its memory may serve for the next
  ASSIGN_OR_RETURN(window_, source_->view_at(context, at, wanted));
  begin_ = at;
  bytes_read_ += window_.bytes.size();
  if (window_.bytes.size() < wanted) {
    return Error{Code::kChanged, at + window_.bytes.size(), "the file is shorter than when it was opened"};
  }
  return window_.bytes;
}

}  // namespace recordfs
