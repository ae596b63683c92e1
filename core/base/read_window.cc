#include "core/base/read_window.h"

#include <algorithm>
#include <optional>

namespace recordfs {
Result<std::size_t> WindowedSource::read_at(const RequestContext& context, Position at, MutableBytes out) const {
  ReadWindow* const window = ReadWindow::of(context, *this);
  return window == nullptr ? below_->read_at(context, at, out) : window->read(context, *below_, at, out);
}

Result<Slice> WindowedSource::view_at(const RequestContext& context, Position at, std::uint64_t size) const {
  ReadWindow* const window = ReadWindow::of(context, *this);
  return window == nullptr ? below_->view_at(context, at, size) : window->view(context, *this, at, size, size);
}

Result<Slice> WindowedSource::view_front(const RequestContext& context, Position at, std::uint64_t size) const {
  ReadWindow* const window = ReadWindow::of(context, *this);
  return window == nullptr ? below_->view_front(context, at, size) : window->view(context, *this, at, size, 1);
}

ReadWindow* ReadWindow::of(const RequestContext& context, const WindowedSource& source) {
  ReadWindow* window = context.window();
  while (window != nullptr && window->source_ != &source) window = window->outer_;
  return window;
}

void ReadWindow::forget() {
  piece_.reset();
  window_.reset();
  filled_ = 0;
}

Result<std::size_t> ReadWindow::read(const RequestContext& context, const Source& below, Position at,
                                     MutableBytes out) {
  if (pass_ != nullptr) return read_parts(context, below, at, out);
  const auto bytes = held(context, below, at, out.size());
  if (!bytes) return below.read_at(context, at, out);
  copy_bytes(*bytes, out);
  return bytes->size();
}

Result<Slice> ReadWindow::view(const RequestContext& context, const WindowedSource& source, Position at,
                               std::uint64_t size, std::uint64_t least) {
  const Source& below = *source.below_;
  if (pass_ != nullptr) {
    const std::uint64_t there = std::min(size, below.size() - std::min(at, below.size()));
    const Bytes bytes = part(context, below, at, there);
    if (bytes.size() >= std::min(least, there)) return Slice{bytes, piece_};
    return source.Source::view_at(context, at, size);
  }
  if (const auto bytes = held(context, below, at, size)) return Slice{*bytes, window_};
  const std::uint64_t there = std::min(size, below.size() - at);
  if (there >= kWhole || !fill(context, below, at, there, there)) return below.view_at(context, at, size);
  return Slice{window_->view().first(static_cast<std::size_t>(there)), window_};
}

Bytes ReadWindow::part(const RequestContext& context, const Source& below, Position at, std::uint64_t size) {
  if (size == 0) return {};
  Bytes rest = piece_ ? piece_->from(at) : Bytes{};
  if (rest.empty()) {
    piece_.reset();
    piece_ = pass_->piece_at(context, below, at);
    if (piece_) rest = piece_->from(at);
  }
  return rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(size, rest.size())));
}

Result<std::size_t> ReadWindow::read_parts(const RequestContext& context, const Source& below, Position at,
                                           MutableBytes out) {
  const std::uint64_t there = std::min<std::uint64_t>(out.size(), below.size() - std::min(at, below.size()));
  MutableBytes rest = out.first(static_cast<std::size_t>(there));
  while (!rest.empty()) {
    const Position position = at + there - rest.size();
    const Bytes bytes = part(context, below, position, rest.size());
    if (bytes.empty()) {
      ASSIGN_OR_RETURN(const auto got, below.read_at(context, position, rest));
      return static_cast<std::size_t>(there) - rest.size() + got;
    }
    copy_bytes(bytes, rest);
    rest = rest.subspan(bytes.size());
  }
  return static_cast<std::size_t>(there);
}

std::optional<Bytes> ReadWindow::held(const RequestContext& context, const Source& below, Position at,
                                      std::uint64_t size) {
  const std::uint64_t there = at < below.size() ? std::min(size, below.size() - at) : 0;
  const Position end = std::min(at, below.size()) + there;
  if (there == 0) return Bytes{};
  const bool inside = at >= begin_ && at - begin_ <= filled_ && there <= filled_ - (at - begin_);
  const bool is_short = at >= last_end_ ? at - last_end_ <= kNear : last_end_ - at <= kNear;
  last_end_ = end;
  short_steps_ = is_short ? std::min(short_steps_ + 1, kShortSteps) : 0;
  if (!is_short) last_size_ = 0;
  if (!inside && (short_steps_ < kShortSteps || there >= kWhole || !move(context, below, at, there)))
    return std::nullopt;
  return window_->view().subspan(static_cast<std::size_t>(at - begin_), static_cast<std::size_t>(there));
}

bool ReadWindow::move(const RequestContext& context, const Source& below, Position at, std::uint64_t size) {
  last_size_ = std::clamp(last_size_ * 2, kFirst, kLargest);
  return fill(context, below, at, size, std::min(std::max(last_size_, 2 * size), below.size() - at));
}

bool ReadWindow::fill(const RequestContext& context, const Source& below, Position at, std::uint64_t least,
                      std::uint64_t most) {
  const auto wanted = static_cast<std::size_t>(most);
  filled_ = 0;
  // Views of the old window keep it.
  if (!window_ || window_.use_count() > 1 || window_->size() < wanted) {
    auto buffer = Buffer::allocate(context, wanted);
    if (!buffer) return false;
    window_ = std::make_shared<Buffer>(std::move(*buffer));
  }
  const auto got = below.read_at(context, at, window_->span().first(wanted));
  if (!got || *got < least) {
    last_size_ = 0;
    short_steps_ = 0;
    return false;
  }
  begin_ = at;
  filled_ = *got;
  return true;
}

}  // namespace recordfs
