#include "fusefs/glue/read_ahead_pusher.h"

#include <algorithm>
#include <utility>

#include "core/base/request_context.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kFirstWindow = 16;
constexpr std::uint64_t kLargestWindow = 1024;
constexpr std::uint64_t kWindowBytes = 1u << 20;
constexpr std::uint64_t kLargestRecord = 32u << 10;  // larger ones may cost a request
constexpr unsigned kMostFailures = 8;
constexpr std::uint64_t kPatience = 256;  // reads

}  // namespace

bool ReadAheadPusher::start(Store store) {
  store_ = std::move(store);
  is_running_ = true;
  thread_ = start_thread([this] {
    run();
    const std::lock_guard lock(mutex_);
    is_running_ = false;
    ended_.notify_all();
  });
  return thread_.joinable();
}

void ReadAheadPusher::end_stores(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  ended_.wait_for(lock, limit, [this] { return !is_running_; });
}

void ReadAheadPusher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::unique_lock lock(mutex_);
  for (Reader& reader : readers_) {
    reader.waits = false;
    resume_held(reader, lock);
  }
}

// A push has at most twice as many records as the last, and the number of the record after it is not known yet.
bool ReadAheadPusher::is_near(const Reader& reader, std::uint64_t number, std::uint64_t reach) {
  return reader.waits && number > reader.last && number - reader.last <= reach + 3 * reader.pushed_span;
}

// Returns the reader that requests a record before it is pushed. REQUIRES: mutex_ is locked.
ReadAheadPusher::Reader* ReadAheadPusher::overtaken(std::uint64_t number, std::uint64_t reach) {
  // Any push may store the record, and not only that of its reader.
  if (stopping_ || number == storing_) return nullptr;
  const auto reader = std::ranges::find_if(readers_, [number, reach](const Reader& known) {
    const bool may_wait = known.held == 0 && known.candidate == 0 && number > std::max(known.reached, known.pushed);
    return may_wait && is_near(known, number, reach);
  });
  return reader == readers_.end() ? nullptr : &*reader;
}

// Returns false if the record must not be pushed: its request waits, maybe for the push of another reader, or the mount
// ends.
bool ReadAheadPusher::begin_record(Reader& reader, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || std::ranges::find(readers_, number, &Reader::held) != readers_.end()) return false;
  reader.reached = storing_ = number;
  return true;
}

// Answers the request that waits. REQUIRES: the lock is held; unlocks meanwhile.
void ReadAheadPusher::resume_held(Reader& reader, std::unique_lock<std::mutex>& lock) {
  if (reader.held == 0) return;
  const auto resume = std::exchange(reader.resume, nullptr);
  reader.held = 0;
  lock.unlock();
  resume();
  lock.lock();
}

void ReadAheadPusher::was_read(std::uint64_t number) {
  if (!is_record(number)) return;
  const std::uint64_t reach = tree_.record_reach();
  {
    const std::lock_guard lock(mutex_);
    auto reader = std::ranges::find_if(readers_, [number, reach](const Reader& known) {
      return known.window != 0 && number > known.last && (number <= known.next || is_near(known, number, reach));
    });
    if (reader == readers_.end()) {
      reader = std::ranges::find_if(readers_, [number, reach](const Reader& known) {
        return known.window == kFirstWindow && !known.waits && known.pushed == known.last && number > known.last &&
               number - known.last <= reach;
      });
      if (reader != readers_.end()) {
        reader->candidate = number;
        demand(*reader);
        wake_.notify_one();
        return;
      }
      reader = oldest();
      if (reader->waits) return;
      *reader = {.pushed = number, .next = number + 1, .left_out = number + 1, .window = kFirstWindow};
    }
    const bool comes = number >= reader->left_out;
    reader->last = number;
    reader->used_at = ++time_;
    if (!comes || reader->waits) return;
    if (reader->pushed < number) reader->pushed = number;
    if (reader->pause > 0) {
      --reader->pause;
      reader->next = reader->left_out = number + 1;
      return;
    }
    demand(*reader);
  }
  wake_.notify_one();
}

void ReadAheadPusher::demand(Reader& reader) {
  waiting_.push_back(&reader);
  reader.waits = true;
  pushes_.fetch_add(1, std::memory_order_relaxed);
}

// Readers that have continued for a while are replaced later than random ones.
ReadAheadPusher::Readers::iterator ReadAheadPusher::oldest() {
  return std::ranges::min_element(readers_, {}, [](const Reader& reader) {
    return reader.used_at + (reader.window > kFirstWindow ? kPatience : 0);
  });
}

// Returns whether the reader has read what was pushed before it was pushed. The next push then begins where the reader
// is.
bool ReadAheadPusher::is_overtaken(Reader& reader) {
  if (reader.pause > 0 || reader.last < reader.next) return false;
  reader.pushed = reader.last;
  return true;
}

// Returns whether the candidate is the record after the last one. The reader then continues there.
bool ReadAheadPusher::is_sequential(Reader& reader, std::unique_lock<std::mutex>& lock) const {
  const std::uint64_t candidate = std::exchange(reader.candidate, 0);
  const std::uint64_t last = reader.last;
  lock.unlock();
  std::uint64_t next = 0;
  RequestContext::Attempt attempt;
  const RequestContext context(RequestContext::Permission::kNonBlocking, attempt);
  const auto take = [&next](std::uint64_t number, Bytes) {
    next = number;
    return false;
  };
  if (!has_memory_for([&] { tree_.for_each_following(context, last, reader.following, take); })) next = 0;
  lock.lock();
  reader.last = std::max(reader.last, candidate);
  reader.pushed = reader.last;
  reader.next = reader.left_out = reader.last + 1;
  return next == candidate;
}

void ReadAheadPusher::push(Reader& reader, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t window = reader.window;
  const std::uint64_t after = reader.pushed;
  lock.unlock();
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stored_records = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t left_out = 0;
  std::uint64_t pushed = after;
  std::uint64_t next = 0;
  bool known = true;
  const auto take = [&](std::uint64_t number, Bytes record) {
    // Readers are recognized by ascending numbers. Chunks of Bloscpack may lie in another order than that of their
    // records.
    if (number <= pushed) {
      next = 0;
      return false;
    }
    next = number;
    const bool is_full = records == window || bytes >= kWindowBytes;
    if (is_full || record.size() > kLargestRecord) return false;
    // The reader reads the second half while the next records are decoded.
    const bool shall_ask = left_out == 0 && (records >= window / 2 || bytes >= kWindowBytes / 2);
    if (shall_ask) left_out = number;
    const bool is_stored = !shall_ask && !record.empty() && begin_record(reader, number);
    known = !is_stored || store_(number, record);
    if (!known) return false;
    if (is_stored) {
      ++stored_records;
      stored_bytes += record.size();
    }
    pushed = number;
    ++records;
    bytes += record.size();
    return true;
  };
  RequestContext::Attempt attempt;
  // Non-blocking, because a decompression bomb must not delay others.
  const RequestContext context(RequestContext::Permission::kNonBlocking, attempt);
  // Without memory: pauses until there may be some.
  known &= has_memory_for([&] { tree_.for_each_following(context, after, reader.following, take); });
  pushed_records_.fetch_add(stored_records, std::memory_order_relaxed);
  pushed_bytes_.fetch_add(stored_bytes, std::memory_order_relaxed);
  lock.lock();
  reader.pushed = std::max(reader.pushed, pushed);
  reader.next = next == 0 || !known ? std::max(next, reader.last + 1) : next;
  reader.pushed_span = reader.next - after;
  reader.left_out = left_out != 0 ? left_out : reader.next;
  reader.window = std::min(2 * window, kLargestWindow);
  reader.failures = known ? 0 : std::min(reader.failures + 1, kMostFailures);
  if (!known) reader.pause = (1u << reader.failures) - 1;
}

void ReadAheadPusher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Reader& reader = *waiting_.front();
    waiting_.pop_front();
    if (reader.candidate == 0 || is_sequential(reader, lock)) {
      do {
        push(reader, lock);
      } while (is_overtaken(reader) && !stopping_);
    }
    reader.waits = false;
    pushes_.fetch_sub(1, std::memory_order_relaxed);
    resume_held(reader, lock);
  }
}

}  // namespace recordfs
