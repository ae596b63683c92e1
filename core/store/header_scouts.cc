#include "core/store/header_scouts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kFar = 512u << 10;       // bytes from one header to the next
constexpr std::uint64_t kHeader = 4u << 10;      // bytes, as much as formats read
constexpr std::uint64_t kLeastEqual = 4;         // steps before the next one is predicted
constexpr std::uint64_t kMostPredicted = 16;     // headers
constexpr std::uint64_t kLeastSteps = 8;         // before threads start
constexpr std::uint64_t kLeastSaved = 4;         // of so many bytes, at most one is requested
constexpr std::uint64_t kHeadersPerPart = 16;    // of a thread
constexpr std::uint64_t kPartsAhead = 16;        // of the scan
constexpr std::uint64_t kAlignment = 64u << 10;  // where formats have marks to begin at

}  // namespace

HeaderScouts::HeaderScouts(const Container& container, const Source& source)
    : container_(container),
      source_(source),
      is_used_(source.is_remote() && container.traits().is_in_file_order),
      can_locate_(container.traits().has_seek_structure) {}

HeaderScouts::~HeaderScouts() {
  is_over_.store(true, std::memory_order_relaxed);
  { const std::lock_guard lock(mutex_); }
  moved_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HeaderScouts::note(Position at) {
  if (!is_used_) return;
  if (steps_ == 0) {
    first_ = at;
    requested_before_ = source_.requested_bytes();
  }
  const std::uint64_t gap = at > last_ ? at - last_ : 0;
  equal_ = gap == gap_ && gap >= kFar ? equal_ + 1 : 0;
  gap_ = gap;
  last_ = at;
  ++steps_;
  if (!can_locate_) return predict(at);
  driver_.store(at, std::memory_order_relaxed);
  if (!threads_.empty()) {
    // Once for each part would do, but the scan waits for the network anyway.
    moved_.notify_all();
  } else if (steps_ > kLeastSteps) {
    start(at);
  }
}

// Requests as many headers as were found to be equally far apart, since each wrong one costs a request.
void HeaderScouts::predict(Position at) {
  if (equal_ < kLeastEqual) {
    until_ = 0;
    return;
  }
  const std::uint64_t most = std::min(equal_, kMostPredicted);
  if (until_ <= at) until_ = at + gap_;
  for (; until_ <= at + most * gap_ && until_ < source_.size(); until_ += gap_) {
    source_.will_need(until_, std::min(source_.size(), until_ + kHeader));
  }
}

void HeaderScouts::start(Position at) {
  const std::uint64_t gap = (at - std::min(at, first_)) / (steps_ - 1);
  const std::uint64_t part = (gap * kHeadersPerPart + kAlignment - 1) / kAlignment * kAlignment;
  if (gap < kFar || source_.size() - std::min(at, source_.size()) < 2 * part) return;
  // Some formats read more of each chunk than its header, and such a scan is as fast as the network.
  if (source_.requested_bytes() - requested_before_ > (at - first_) / kLeastSaved) return;
  part_ = part;
  next_part_ = (at + part) / kAlignment * kAlignment;
  threads_.reserve(kThreads);
  while (threads_.size() < kThreads) {
    std::thread thread = start_thread([this] { run(); });
    if (!thread.joinable()) return;
    threads_.push_back(std::move(thread));
  }
}

void HeaderScouts::run() {
  const std::uint64_t part = part_;
  while (!is_over_) {
    const Position begin = next_part_.fetch_add(part);
    if (begin >= source_.size()) return;
    {
      std::unique_lock lock(mutex_);
      moved_.wait(lock, [&] { return is_over_ || begin < driver_ + kPartsAhead * part; });
    }
    // The scan may have been faster.
    if (is_over_ || driver_ >= begin + part) continue;
    if (!has_memory_for([&] { scan_part(begin, std::min(begin + part, source_.size())); })) return;
  }
}

void HeaderScouts::scan_part(Position begin, Position end) {
  const RequestContext context(is_over_);
  auto count = [this, counted = source_.requested_bytes()]() mutable {
    const std::uint64_t now = source_.requested_bytes();
    requested_ += now - std::exchange(counted, now);
  };
  const auto chunk = container_.locate(context, begin);
  count();
  if (!chunk || !*chunk) return;
  std::optional<ChunkKey> next = (*chunk)->key;
  while (next && next->position < end && !is_over_) {
    const auto step = container_.scan(context, *next);
    count();
    // Damage can take long, and is rare.
    if (!step || !step->damage.empty()) return;
    next = step->next;
  }
}

}  // namespace recordfs
