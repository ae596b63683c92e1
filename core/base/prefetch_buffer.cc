#include "core/base/prefetch_buffer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kProbe = 64u << 10;  // bytes of a piece that are read before it is known whether a hole follows
constexpr std::size_t kMostSpares = 8;
constexpr std::size_t kLargestSpare = 4u << 20;
constexpr std::size_t kUsualCarried = 128u << 10;     // bytes before a piece
constexpr std::size_t kPage = 4096;                   // reads into memory at multiples of it are faster
constexpr auto kSlow = std::chrono::milliseconds(2);  // for kPiece bytes; from the page cache, a tenth of this
constexpr unsigned kSlowLoads = 8;                    // consecutive; some may be slow because another process ran
constexpr std::size_t kZeros = 4096;                  // so many zeros may begin a hole

constexpr std::uint64_t to_page(std::uint64_t size) { return (size + kPage - 1) / kPage * kPage; }

bool ends_with_zeros(Bytes bytes) { return are_zeros(bytes.last(std::min(bytes.size(), kZeros))); }

// Returns false if the bytes cannot be read, or the source ends earlier.
bool fill(const RequestContext& context, const Source& from, Position at, MutableBytes out) {
  const auto got = from.read_next(context, at, out);
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
struct PrefetchBuffer::SpareBuffers {
  // Returns a buffer of at least `size` bytes.
  Result<Buffer> take(const RequestContext& context, std::size_t size) {
    {
      const std::lock_guard lock(mutex);
      for (auto spare = buffers.end(); spare != buffers.begin();) {
        if ((--spare)->size() < size) continue;
        Buffer buffer = std::move(*spare);
        buffers.erase(spare);
        return buffer;
      }
    }
    return Buffer::allocate(context, std::max<std::size_t>(size + size / 4, kPiece + kUsualCarried));
  }

  void give(Buffer buffer) {
    if (buffer.empty() || buffer.size() > kLargestSpare) return;
    const std::lock_guard lock(mutex);
    if (buffers.size() == kMostSpares) buffers.erase(buffers.begin());
    buffers.push_back(std::move(buffer));
  }

  // REQUIRES: `self` is not null. Throws std::bad_alloc.
  static std::shared_ptr<Piece> shared(const std::shared_ptr<SpareBuffers>& self, Piece piece) {
    auto own = std::make_unique<Piece>(std::move(piece));
    return {own.release(), [self](Piece* done) {
              const std::unique_ptr<Piece> owned(done);
              self->give(std::move(owned->buffer_));
            }};
  }

  SpareBuffers() { buffers.reserve(kMostSpares); }
  std::mutex mutex;
  std::vector<Buffer> buffers;
};

void PrefetchBuffer::Hold::extend(PrefetchBuffer& pass, Position begin, Position end) {
  const std::lock_guard lock(pass.mutex_);
  if (pass_ != nullptr) begin = range_->first;
  if (begin >= end || end - begin > kReach) return;
  if (pass_ == nullptr) {
    range_ = pass.holds_.emplace(begin, end);
    pass_ = &pass;
  }
  range_->second = std::max(range_->second, end);
}

void PrefetchBuffer::Hold::release() {
  if (pass_ != nullptr) std::exchange(pass_, nullptr)->release(range_);
}

PrefetchBuffer::PrefetchBuffer(const Source& source, Position end)
    : source_(source), end_(std::min(end, source.size())), spares_(std::make_shared<SpareBuffers>()) {
  if (end_ > kPiece) source.expect_sequential_reads();
}

PrefetchBuffer::~PrefetchBuffer() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PrefetchBuffer::advance(Position at) {
  if (at / kPiece == driver_at_ / kPiece) return;
  driver_at_ = at;
  const std::lock_guard lock(mutex_);
  const bool goes_on = at >= low_ && (at < next_ + kPiece || is_held_up_to(at));
  low_ = at;
  if (!goes_on) move_to(at - at % kPage);
  drop_unused();
  // Wakes the thread for several pieces at a time.
  if (next_ <= low_ + kMostAhead / 2) wake_.notify_one();
}

// Returns whether held bytes are between the window and `at`, so that the window must not jump.
bool PrefetchBuffer::is_held_up_to(Position at) const {
  return at < next_ + kReach &&
         std::ranges::any_of(holds_, [&](const auto& range) { return range.first < at && range.second > next_; });
}

// Threads that wait for earlier bytes read the source themselves.
void PrefetchBuffer::move_to(Position at) {
  begin_ = next_ = at;
  ++moves_;
  wanted_ = 0;
  is_in_hole_ = false;
  loaded_.notify_all();
}

void PrefetchBuffer::drop_unused() {
  Position least = std::max(low_, next_ - std::min(next_, kMostKept));
  if (!holds_.empty()) least = std::min(least, holds_.begin()->first);
  // Keeps the first piece, because formats read the front of the file for each chunk.
  for (auto piece = pieces_.upper_bound(0); piece != pieces_.end() && piece->first < least;) {
    const bool is_used = piece->first + piece->second->size() > least;
    piece = is_used ? std::next(piece) : pieces_.erase(piece);
  }
}

void PrefetchBuffer::release(std::multimap<Position, Position>::iterator range) {
  const std::lock_guard lock(mutex_);
  holds_.erase(range);
  drop_unused();
}

Slice PrefetchBuffer::window(Position at, std::uint64_t least) {
  least = std::min(least, source_.size() - at);
  Lock lock(mutex_);
  Slice found;
  for (;;) {
    const Position end = at + found.bytes.size();
    if (!found.bytes.empty() && found.bytes.size() >= least) return found;
    const std::uint64_t wanted = least - std::min<std::uint64_t>(least, found.bytes.size());
    std::shared_ptr<Piece> piece;
    if (end == next_ && in_flight_.empty() && !has_loader()) {
      load_next({}, lock, source_, wanted, std::move(found));
      piece = loaded_piece(at);
      found = piece ? Slice{piece->from(at), piece} : Slice{};
      if (at + found.bytes.size() <= end) return found;
      continue;
    }
    piece = piece_at({}, lock, source_, end);
    const Bytes more = piece ? piece->from(end) : Bytes{};
    if (more.empty()) return found;
    if (found.bytes.empty()) {
      found = {more, std::move(piece)};
      continue;
    }
    Slice in_front = piece->begin() == end ? joined_in_front(found, piece) : Slice{};
    found = in_front.bytes.empty() ? joined(at, found, more) : std::move(in_front);
  }
}

Slice PrefetchBuffer::joined_in_front(const Slice& before, const std::shared_ptr<Piece>& piece) {
  const std::size_t size = before.bytes.size();
  if (piece->front_ < size || std::exchange(piece->is_front_used_, true)) return {};
  const MutableBytes all = piece->buffer_.span().subspan(piece->front_ - size, size + piece->size_);
  copy_bytes(before.bytes, all.first(size));
  return {all, piece};
}

Slice PrefetchBuffer::joined(Position at, const Slice& bytes, Bytes more) const {
  auto buffer = spares_->take({}, bytes.bytes.size() + more.size());
  if (!buffer) throw std::bad_alloc();
  copy_bytes(bytes.bytes, buffer->span());
  copy_bytes(more, buffer->span().subspan(bytes.bytes.size()));
  const auto piece = SpareBuffers::shared(spares_, Piece(at, std::move(*buffer), 0, bytes.bytes.size() + more.size()));
  return {piece->view(), piece};
}

bool PrefetchBuffer::load_ahead(std::uint64_t most) {
  Lock lock(mutex_);
  // A server that reads ahead needs reads in file order.
  const bool goes_on = next_ > begin_ && next_ < end_ && !is_in_hole_ && source_.filesystem() == 0;
  if (!goes_on || next_ >= low_ + most * kPieceAhead || has_loader()) return false;
  load_next({}, lock, source_, std::min(kPieceAhead, end_ - next_), {}, kUsualCarried);
  return true;
}

std::shared_ptr<PrefetchBuffer::Piece> PrefetchBuffer::piece_at(const RequestContext& context, const Source& below,
                                                                Position at) {
  Lock lock(mutex_);
  return piece_at(context, lock, below, at);
}

std::shared_ptr<PrefetchBuffer::Piece> PrefetchBuffer::piece_at(const RequestContext& context, Lock& lock,
                                                                const Source& below, Position at) {
  while (at >= next_ || is_in_flight(at)) {
    if (at >= next_ && at - next_ >= kReach) return nullptr;
    wanted_ = std::max(wanted_, at);
    if (in_flight_.empty() && !has_loader()) {
      load_next(context, lock, below);
      continue;
    }
    wake_.notify_one();
    loaded_.wait(lock);
  }
  return loaded_piece(at);
}

bool PrefetchBuffer::is_in_flight(Position at) const {
  return std::ranges::any_of(in_flight_, [&](const auto& load) { return at >= load.first && at < load.second; });
}

std::shared_ptr<PrefetchBuffer::Piece> PrefetchBuffer::loaded_piece(Position at) const {
  const auto after = pieces_.upper_bound(at);
  if (after == pieces_.begin()) return nullptr;
  const auto& piece = std::prev(after)->second;
  return at - piece->begin() < piece->size() ? piece : nullptr;
}

// Returns whether there is a thread that loads pieces. Without, readers load them themselves.
bool PrefetchBuffer::has_loader() {
  if (is_slow_ && !std::exchange(tried_thread_, true)) thread_ = start_thread([this] { run(); });
  return thread_.joinable();
}

PrefetchBuffer::Load PrefetchBuffer::next_load(const Source& from, std::uint64_t least, Slice carried) {
  const std::uint64_t there = from.size() - std::min(next_, from.size());
  const std::uint64_t ahead = next_ < end_ ? std::min(kPiece, to_page(end_ - next_)) : kPiece;
  Load load{.begin = next_,
            .size = static_cast<std::size_t>(std::min(std::max(ahead, to_page(least)), there)),
            .may_be_sparse = is_in_hole_ || (next_ == begin_ && next_ > 0),
            .carried = std::move(carried)};
  if (load.carried.bytes.empty()) return load;
  // If nothing else uses the memory of the carried bytes, the piece takes it, because it is in the processor's cache.
  const auto last = pieces_.upper_bound(next_ - load.carried.bytes.size());
  if (last == pieces_.begin() || !holds_.empty()) return load;
  const auto piece = std::prev(last);
  const bool is_alone = piece->second == load.carried.owner && piece->second.use_count() == 2 && piece->first > 0;
  if (!is_alone || piece->second->buffer_.size() < to_page(load.carried.bytes.size()) + load.size) return load;
  load.carried.owner.reset();
  load.to_reuse = std::move(piece->second->buffer_);
  pieces_.erase(piece);
  return load;
}

void PrefetchBuffer::load_next(const RequestContext& context, Lock& lock, const Source& from, std::uint64_t least,
                               Slice carried, std::size_t room) {
  Load next = next_load(from, least, std::move(carried));
  next.room = room;
  const Position begin = next.begin;
  const Position end = begin + next.size;
  const std::uint64_t moves = moves_;
  next_ = end;
  const auto in_flight = in_flight_.emplace(begin, end);
  lock.unlock();
  const auto start = std::chrono::steady_clock::now();
  Pieces loaded;
  // Without memory for it, threads read this piece from the source.
  has_memory_for([&] {
    if (auto piece = load(context, from, std::move(next))) loaded[piece->begin()] = std::move(piece);
  });
  const bool may_begin_hole = !loaded.empty() && ends_with_zeros(loaded.begin()->second->view());
  const bool was_slow = std::chrono::steady_clock::now() - start >= kSlow * (1 + (end - begin) / kPiece);
  lock.lock();
  slow_loads_ = was_slow ? slow_loads_ + 1 : 0;
  is_slow_ |= slow_loads_ >= kSlowLoads;
  in_flight_.erase(in_flight);
  if (moves == moves_) {
    if (next_ == end) is_in_hole_ = may_begin_hole;
    if (!loaded.empty()) pieces_.erase(loaded.begin()->first);
    pieces_.merge(loaded);
    drop_unused();
  }
  loaded_.notify_all();
  wake_.notify_one();
}

std::shared_ptr<PrefetchBuffer::Piece> PrefetchBuffer::load(const RequestContext& context, const Source& from,
                                                            Load load) {
  const std::size_t before = load.carried.bytes.size();
  const auto room = std::max(load.room, static_cast<std::size_t>(to_page(before)));
  if (load.to_reuse.empty()) {
    auto buffer = spares_->take(context, room + load.size);
    if (!buffer) return nullptr;
    load.to_reuse = std::move(*buffer);
  }
  Buffer& buffer = load.to_reuse;
  std::byte* const carried = buffer.data() + (room - before);
  if (before > 0 && carried != load.carried.bytes.data()) std::memmove(carried, load.carried.bytes.data(), before);
  const auto piece = [&](std::size_t read) {
    return SpareBuffers::shared(spares_, Piece(load.begin - before, std::move(buffer), room - before, before + read));
  };
  MutableBytes rest = buffer.span().subspan(room, load.size);
  if (load.may_be_sparse && rest.size() > kProbe) {
    const MutableBytes front = rest.first(kProbe);
    if (!fill(context, from, load.begin, front)) return nullptr;
    if (begins_hole(context, from, load.begin + kProbe, front)) return piece(kProbe);
    rest = rest.subspan(kProbe);
  }
  if (!fill(context, from, load.begin + load.size - rest.size(), rest)) return nullptr;
  return piece(load.size);
}

bool PrefetchBuffer::wants_more() const {
  if (next_ <= wanted_) return true;
  const std::uint64_t ahead = std::min(kMostAhead, next_ - begin_);
  return !is_in_hole_ && next_ < end_ && next_ < low_ + ahead;
}

void PrefetchBuffer::run() {
  Lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return is_stopping_ || (in_flight_.empty() && wants_more()); });
    if (is_stopping_) return;
    load_next({}, lock, source_);
  }
}

}  // namespace recordfs
