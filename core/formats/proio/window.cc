#include "core/formats/proio/window.h"

#include <algorithm>
#include <utility>

namespace recordfs::proio {

Result<Bytes> Window::from(Position at, std::uint64_t least) {
  const std::uint64_t there = source_.size() - std::min(at, source_.size());
  const bool begins_here = at >= begin_ && at - begin_ <= bytes_.size();
  if (!begins_here || bytes_.size() - (at - begin_) < std::min(least, there)) {
    ASSIGN_OR_RETURN(auto read, read_up_to(source_, at, width_));
    bytes_ = std::move(read);
    bytes_read_ += bytes_.size();
    begin_ = at;
  }
  return bytes_.view().subspan(static_cast<std::size_t>(at - begin_));
}

}  // namespace recordfs::proio
