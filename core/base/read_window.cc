#include "core/base/read_window.h"

#include <algorithm>
#include <optional>

namespace recordfs {
namespace {

constexpr std::uint64_t kMostJoined = 4u << 20;  // bytes of a view that consists of several pieces

Slice front_of(const ScanCache::Piece& piece, Position at, std::uint64_t size) {
  const Bytes bytes = piece.from(at);
  return {bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), size))), piece.buffer};
}

}  // namespace

Result<std::size_t> WindowedSource::read_at(const RequestContext& context, Position at, MutableBytes out) const {
  ReadWindow* const window = ReadWindow::of(context, *this);
  return window == nullptr ? read(context, at, out) : window->read(context, *this, at, out);
}

Result<bool> WindowedSource::is_current(const RequestContext& context, std::uint64_t generation) const {
  TRY(below().check_unchanged(context));
  if (generation == below().generation()) return true;
  kept_->forget(id_);
  return false;
}

Result<std::optional<ScanCache::Piece>> WindowedSource::kept(const RequestContext& context, Position at,
                                                             std::uint64_t size) const {
  if (kept_ == nullptr || at >= below().size()) return std::optional<ScanCache::Piece>{};
  auto piece = kept_->find(id_, at);
  if (!piece || piece->end - at < std::min(size, below().size() - at)) return std::optional<ScanCache::Piece>{};
  ASSIGN_OR_RETURN(const auto current, is_current(context, piece->generation));
  if (!current) piece.reset();
  return piece;
}

Result<std::size_t> WindowedSource::copy_kept(const RequestContext& context, Position at, MutableBytes out) const {
  std::size_t done = 0;
  std::optional<ScanCache::Piece> piece;
  while (done < out.size() && (piece = kept_->find(id_, at + done))) {
    const Bytes bytes = piece->from(at + done);
    const Bytes taken = bytes.first(std::min(bytes.size(), out.size() - done));
    copy_bytes(taken, out.subspan(done, taken.size()));
    ASSIGN_OR_RETURN(const auto current, is_current(context, piece->generation));
    if (!current) return std::size_t{0};
    done += taken.size();
  }
  return done;
}

Result<Slice> WindowedSource::view(const RequestContext& context, Position at, std::uint64_t size) const {
  ASSIGN_OR_RETURN(const auto piece, kept(context, at, size));
  if (piece) return front_of(*piece, at, size);
  const bool may_join = size <= kMostJoined && kept_ != nullptr && kept_->find(id_, at);
  if (!may_join && on_unreadable_ == OnUnreadable::kFail) return below().view_at(context, at, size);
  TRY(context.spend(size));
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(std::min(size, this->size() - at))));
  ASSIGN_OR_RETURN(const auto got, read(context, at, bytes.span()));
  bytes.truncate(got);
  return owned(std::move(bytes));
}

Result<void> WindowedSource::find_failed(const RequestContext& context, Position at, std::uint64_t size,
                                         const Error& why) const {
  if (!is_of_bytes(why)) return why;
  const bool is_placed = why.position >= at && why.position - at < size;
  ASSIGN_OR_RETURN(const auto found, find_unreadable(context, below(), is_placed ? why.position : at, at + size));
  if (found) unreadable_.add(*found);
  return {};
}

Result<std::size_t> WindowedSource::read(const RequestContext& context, Position at, MutableBytes out) const {
  if (on_unreadable_ == OnUnreadable::kFail || at >= size()) return read_kept(context, at, out);
  constexpr int kMostAttempts = 3;  // of a read that fails and then succeeds in parts
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - at));
  int attempts = 0;
  for (std::size_t done = 0; done < wanted;) {
    const Position from = at + done;
    const auto bad = unreadable_.first_in(from, at + wanted);
    if (bad && !context.fills_unreadable()) return bad->error();
    const Position until = bad ? std::max(bad->begin, from) : at + wanted;
    if (until > from) {
      const auto size = static_cast<std::size_t>(until - from);
      auto got = read_kept(context, from, out.subspan(done, size));
      if (got) {
        done += *got;
        if (*got < size) return done;
      } else {
        TRY(find_failed(context, from, size, got.error()));
        if (!unreadable_.first_in(from, until) && ++attempts == kMostAttempts) return std::move(got).error();
      }
      continue;
    }
    const auto filled = static_cast<std::size_t>(std::min(bad->end, at + wanted) - from);
    std::ranges::fill(out.subspan(done, filled), kUnreadableFill);
    done += filled;
  }
  return wanted;
}

Result<Position> WindowedSource::next_data(const RequestContext& context, Position at) const {
  if (context.fills_unreadable() && at < size()) {
    if (const auto bad = unreadable_.first_in(at, at + 1)) return std::min(bad->end, size());
  }
  return below().next_data(context, at);
}

Result<std::size_t> WindowedSource::read_kept(const RequestContext& context, Position at, MutableBytes out) const {
  if (kept_ == nullptr || kept_->is_empty() || at >= below().size()) return below().read_at(context, at, out);
  ASSIGN_OR_RETURN(const auto copied, copy_kept(context, at, out));
  if (copied == out.size() || at + copied == below().size()) return copied;
  ASSIGN_OR_RETURN(const auto got, below().read_at(context, at + copied, out.subspan(copied)));
  return copied + got;
}

Result<Slice> WindowedSource::view_at(const RequestContext& context, Position at, std::uint64_t size) const {
  ReadWindow* const window = ReadWindow::of(context, *this);
  return window == nullptr ? view(context, at, size) : window->view(context, *this, at, size);
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

Result<std::size_t> ReadWindow::read(const RequestContext& context, const WindowedSource& source, Position at,
                                     MutableBytes out) {
  if (pass_ != nullptr) return read_parts(context, source, at, out);
  const auto bytes = held(context, source, at, out.size());
  if (!bytes) return source.read(context, at, out);
  copy_bytes(*bytes, out);
  return bytes->size();
}

Result<Slice> ReadWindow::view(const RequestContext& context, const WindowedSource& source, Position at,
                               std::uint64_t size) {
  const Source& below = source.below();
  if (pass_ != nullptr) {
    const std::uint64_t there = std::min(size, below.size() - std::min(at, below.size()));
    const Bytes bytes = part(context, below, at, there);
    if (bytes.size() == there) return Slice{bytes, piece_};
    return source.Source::view_at(context, at, size);
  }
  if (const auto bytes = held(context, source, at, size)) return Slice{*bytes, window_};
  const std::uint64_t there = std::min(size, below.size() - at);
  if (there >= kWhole || !fill(context, source, at, there, there)) return source.view(context, at, size);
  // A kept window may begin before `at`.
  return Slice{window_->view().subspan(static_cast<std::size_t>(at - begin_), static_cast<std::size_t>(there)),
               window_};
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

Result<std::size_t> ReadWindow::read_parts(const RequestContext& context, const WindowedSource& source, Position at,
                                           MutableBytes out) {
  const Source& below = source.below();
  const std::uint64_t there = std::min<std::uint64_t>(out.size(), below.size() - std::min(at, below.size()));
  MutableBytes rest = out.first(static_cast<std::size_t>(there));
  while (!rest.empty()) {
    const Position position = at + there - rest.size();
    const Bytes bytes = part(context, below, position, rest.size());
    if (bytes.empty()) {
      ASSIGN_OR_RETURN(const auto got, source.read(context, position, rest));
      return static_cast<std::size_t>(there) - rest.size() + got;
    }
    copy_bytes(bytes, rest);
    rest = rest.subspan(bytes.size());
  }
  return static_cast<std::size_t>(there);
}

std::optional<Bytes> ReadWindow::held(const RequestContext& context, const WindowedSource& source, Position at,
                                      std::uint64_t size) {
  const std::uint64_t there = at < source.size() ? std::min(size, source.size() - at) : 0;
  const Position end = std::min(at, source.size()) + there;
  if (there == 0) return Bytes{};
  const bool inside = at >= begin_ && at - begin_ <= filled_ && there <= filled_ - (at - begin_);
  const bool is_short = at >= last_end_ ? at - last_end_ <= kNear : last_end_ - at <= kNear;
  last_end_ = end;
  short_steps_ = is_short ? std::min(short_steps_ + 1, kShortSteps) : 0;
  if (!is_short) last_size_ = 0;
  if (!inside && (short_steps_ < kShortSteps || there >= kWhole || !move(context, source, at, there)))
    return std::nullopt;
  return window_->view().subspan(static_cast<std::size_t>(at - begin_), static_cast<std::size_t>(there));
}

bool ReadWindow::move(const RequestContext& context, const WindowedSource& source, Position at, std::uint64_t size) {
  last_size_ = std::clamp(last_size_ * 2, kFirst, kLargest);
  // A reader may step back over the gap, as from a block's trailer to the block.
  const Position end = begin_ + filled_;
  const Position from = filled_ > 0 && at > end && at - end <= kNear ? end : at;
  const std::uint64_t least = at - from + size;
  return fill(context, source, from, least, std::min(std::max(last_size_, 2 * least), source.size() - from));
}

bool ReadWindow::fill(const RequestContext& context, const WindowedSource& source, Position at, std::uint64_t least,
                      std::uint64_t most) {
  const auto wanted = static_cast<std::size_t>(most);
  filled_ = 0;
  if (auto kept = source.kept(context, at, least); kept && *kept) {
    window_ = std::move((*kept)->buffer);
    begin_ = (*kept)->buffer_begin;
    filled_ = (*kept)->end - begin_;
    return true;
  }
  // Views of the old window keep it.
  if (!window_ || window_.use_count() > 1 || window_->size() < wanted) {
    auto buffer = Buffer::allocate(context, wanted);
    if (!buffer) return false;
    window_ = std::make_shared<Buffer>(std::move(*buffer));
  }
  const std::uint64_t generation = source.generation();
  const auto got = source.read(context.filling_unreadable(false), at, window_->span().first(wanted));
  if (!got || *got < least) {
    last_size_ = 0;
    short_steps_ = 0;
    return false;
  }
  begin_ = at;
  filled_ = *got;
  if (after_ == After::kKept && source.kept_ != nullptr) {
    source.kept_->keep(source.id_, {window_, begin_, begin_, begin_ + filled_, generation});
  }
  return true;
}

}  // namespace recordfs
