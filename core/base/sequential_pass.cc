#include "core/base/sequential_pass.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "core/base/thread.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kProbe = 64u << 10;  // bytes of a piece that are read before it is known whether a hole follows
constexpr std::size_t kMostSpares = 8;
constexpr auto kSlow = std::chrono::milliseconds(1);  // for a piece; from the page cache it takes a fifth of this
constexpr unsigned kSlowLoads = 3;                    // consecutive; one may be slow because another process ran
constexpr std::size_t kZeros = 4096;                  // so many zeros may begin a hole

std::uint64_t number_of(Position at) { return at / SequentialPass::kPiece; }

bool ends_with_zeros(Bytes bytes) { return are_zeros(bytes.last(std::min(bytes.size(), kZeros))); }

// Returns false if the bytes cannot be read, or the source ends earlier.
bool fill(const RequestContext& context, const Source& from, Position at, MutableBytes out) {
  const auto got = from.read_at(context, at, out);
  return got && *got == out.size();
}

// Returns whether a hole of a sparse file follows `seen`, which ends at `at`.
bool begins_hole(const RequestContext& context, const Source& from, Position at, Bytes seen) {
  if (!ends_with_zeros(seen)) return false;
  const auto data = from.next_data(context, at);
  return data && *data > at;
}

}  // namespace

// Reuses the buffers of dropped pieces, because new memory costs about as much time as the read that fills it.
struct SequentialPass::SpareBuffers {
  Result<Buffer> take(const RequestContext& context, std::size_t size) {
    {
      const std::lock_guard lock(mutex);
      while (!buffers.empty()) {
        Buffer buffer = std::move(buffers.back());
        buffers.pop_back();
        if (buffer.size() == size) return buffer;
      }
    }
    return Buffer::allocate(context, size);
  }

  void give(Buffer buffer) {
    if (buffer.size() != kCarried + kPiece) return;
    const std::lock_guard lock(mutex);
    if (buffers.size() < kMostSpares) buffers.push_back(std::move(buffer));
  }

  // REQUIRES: `self` is not null. Throws std::bad_alloc.
  static std::shared_ptr<Loaded> shared(const std::shared_ptr<SpareBuffers>& self, Buffer buffer) {
    auto own = std::make_unique<Loaded>(std::move(buffer), kCarried);
    return {own.release(), [self](Loaded* done) {
              const std::unique_ptr<Loaded> owned(done);
              self->give(std::move(owned->buffer_));
            }};
  }

  SpareBuffers() { buffers.reserve(kMostSpares); }
  std::mutex mutex;
  std::vector<Buffer> buffers;
};

void SequentialPass::Hold::extend(SequentialPass& pass, Position begin, Position end) {
  if (begin >= end) return;
  const std::uint64_t first = pass_ == nullptr ? number_of(begin) : first_;
  const std::uint64_t last = number_of(end - 1);
  if (pass_ != nullptr && last <= last_) return;
  if (last - first >= kReach) return;
  const std::lock_guard lock(pass.mutex_);
  std::uint64_t number = pass_ == nullptr ? first : last_ + 1;
  for (; number <= last; ++number) {
    ++pass.pieces_[number].holds;
    pass_ = &pass;
    first_ = first;
    last_ = number;
  }
}

void SequentialPass::Hold::release() {
  if (pass_ != nullptr) std::exchange(pass_, nullptr)->release(first_, last_);
}

SequentialPass::SequentialPass(const Source& source, Position end)
    : source_(source),
      end_((std::min(end, source.size()) + kPiece - 1) / kPiece),
      spares_(std::make_shared<SpareBuffers>()) {
  if (end_ > 1) source.expect_sequential_reads();
}

SequentialPass::~SequentialPass() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SequentialPass::advance(Position at) {
  const std::uint64_t number = number_of(at);
  if (number == driver_at_) return;
  driver_at_ = number;
  const std::lock_guard lock(mutex_);
  const bool goes_on = number >= low_ && (number <= next_ || is_held_up_to(number));
  low_ = number;
  if (!goes_on) move_to(number);
  drop_unused();
  // Wakes the thread for several pieces at a time.
  if (next_ <= low_ + kMostAhead / 2) wake_.notify_one();
}

// Returns whether a held piece is between the window and `number`, so that the window must not jump.
bool SequentialPass::is_held_up_to(std::uint64_t number) const {
  const auto piece = pieces_.lower_bound(next_);
  return number < next_ + kReach && piece != pieces_.end() && piece->first < number;
}

// Threads that wait for an earlier piece read the source themselves.
void SequentialPass::move_to(std::uint64_t number) {
  begin_ = next_ = number;
  wanted_ = 0;
  is_in_hole_ = false;
  loaded_.notify_all();
}

void SequentialPass::drop_unused() {
  // Keeps the first piece, because formats read the front of the file for each chunk.
  const std::uint64_t least = std::max(low_, next_ - std::min(next_, kMostKept));
  for (auto piece = pieces_.upper_bound(0); piece != pieces_.end() && piece->first < least;) {
    piece = piece->second.holds == 0 ? pieces_.erase(piece) : std::next(piece);
  }
}

void SequentialPass::release(std::uint64_t first, std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t number = first; number <= last; ++number) {
    const auto piece = pieces_.find(number);
    if (piece != pieces_.end()) --piece->second.holds;
  }
  drop_unused();
}

Bytes SequentialPass::Loaded::joined(Bytes before) {
  if (before.size() > carried_) {
    // Other threads may read the bytes that are there.
    copy_bytes(before.first(before.size() - carried_), buffer_.span().subspan(room_ - before.size()));
    carried_ = before.size();
  }
  return buffer_.view().subspan(room_ - before.size());
}

Slice SequentialPass::rest_of_piece(Position at) {
  const auto piece = piece_at({}, source_, at);
  const Position begin = number_of(at) * kPiece;
  if (!piece || at - begin >= piece->size()) return {};
  return {piece->view().subspan(static_cast<std::size_t>(at - begin)), piece};
}

Slice SequentialPass::window(Position at) {
  const Slice rest = rest_of_piece(at);
  const Position end = at + rest.bytes.size();
  if (rest.bytes.empty() || rest.bytes.size() > kCarried || end % kPiece != 0 || number_of(end) >= end_) return rest;
  const auto next = piece_at({}, source_, end);
  if (!next || next->room_ < rest.bytes.size()) return rest;
  return {next->joined(rest.bytes), next};
}

std::shared_ptr<SequentialPass::Loaded> SequentialPass::piece_at(const RequestContext& context, const Source& below,
                                                                 Position at) {
  const std::uint64_t number = number_of(at);
  Lock lock(mutex_);
  while (number >= next_) {
    if (number - next_ >= kReach) return nullptr;
    wanted_ = std::max(wanted_, number);
    // If there is no thread, readers load the pieces themselves.
    if (is_slow_ && !std::exchange(tried_thread_, true)) thread_ = start_thread([this] { run(); });
    if (!is_loading_ && !thread_.joinable()) {
      load_next(context, lock, below);
      continue;
    }
    wake_.notify_one();
    loaded_.wait(lock);
  }
  const auto piece = pieces_.find(number);
  return piece == pieces_.end() ? nullptr : piece->second.bytes;
}

void SequentialPass::load_next(const RequestContext& context, Lock& lock, const Source& from) {
  const std::uint64_t number = next_;
  const bool may_be_sparse = is_in_hole_ || (number == begin_ && number > 0);
  is_loading_ = true;
  lock.unlock();
  const auto start = std::chrono::steady_clock::now();
  std::map<std::uint64_t, Piece> loaded;
  try {
    if (auto bytes = load(context, from, number, may_be_sparse)) loaded[number].bytes = std::move(bytes);
  } catch (const std::bad_alloc&) {
    // Threads read this piece from the source.
  }
  const bool may_begin_hole = !loaded.empty() && ends_with_zeros(loaded[number].bytes->view());
  const bool was_slow = std::chrono::steady_clock::now() - start >= kSlow;
  lock.lock();
  slow_loads_ = was_slow ? slow_loads_ + 1 : 0;
  is_slow_ |= slow_loads_ >= kSlowLoads;
  is_loading_ = false;
  if (next_ == number) {
    ++next_;
    is_in_hole_ = may_begin_hole;
    pieces_.merge(loaded);
    if (!loaded.empty()) pieces_[number].bytes = std::move(loaded[number].bytes);  // the piece is held
    drop_unused();
  }
  loaded_.notify_all();
  wake_.notify_one();
}

std::shared_ptr<SequentialPass::Loaded> SequentialPass::load(const RequestContext& context, const Source& from,
                                                             std::uint64_t number, bool may_be_sparse) {
  const Position begin = number * kPiece;
  const std::uint64_t wanted = std::min(kPiece, from.size() - std::min(begin, from.size()));
  auto buffer = spares_->take(context, kCarried + static_cast<std::size_t>(wanted));
  if (!buffer) return nullptr;
  MutableBytes rest = buffer->span().subspan(kCarried);
  if (may_be_sparse && wanted > kProbe) {
    const MutableBytes front = rest.first(kProbe);
    if (!fill(context, from, begin, front)) return nullptr;
    if (begins_hole(context, from, begin + kProbe, front)) return front_alone(context, std::move(*buffer));
    rest = rest.subspan(kProbe);
  }
  if (!fill(context, from, begin + wanted - rest.size(), rest)) return nullptr;
  return SpareBuffers::shared(spares_, std::move(*buffer));
}

std::shared_ptr<SequentialPass::Loaded> SequentialPass::front_alone(const RequestContext& context, Buffer piece) {
  auto front = Buffer::allocate(context, kProbe);
  if (!front) return nullptr;
  copy_bytes(piece.view().subspan(kCarried, kProbe), front->span());
  spares_->give(std::move(piece));
  return std::make_shared<Loaded>(std::move(*front), 0);
}

bool SequentialPass::wants_more() const {
  if (next_ <= wanted_) return true;
  const std::uint64_t ahead = std::min(kMostAhead, next_ - begin_);
  return !is_in_hole_ && next_ < end_ && next_ < low_ + ahead;
}

void SequentialPass::run() {
  Lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return is_stopping_ || (!is_loading_ && wants_more()); });
    if (is_stopping_) return;
    load_next({}, lock, source_);
  }
}

}  // namespace recordfs
