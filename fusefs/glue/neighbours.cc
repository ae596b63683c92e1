#include "fusefs/glue/neighbours.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "core/base/caller.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kFirstWindow = 16;
constexpr std::uint64_t kLargestWindow = 512;
constexpr std::uint64_t kWindowBytes = 1u << 20;
constexpr std::uint64_t kLargestRecord = 32u << 10;  // a larger one is worth a message of its own
constexpr unsigned kMostFailures = 8;
constexpr std::uint64_t kPatience = 256;  // reads

bool store(fuse_session* session, std::uint64_t number, Bytes bytes) {
  fuse_bufvec buffer = FUSE_BUFVEC_INIT(bytes.size());
  buffer.buf[0].mem = const_cast<std::byte*>(bytes.data());  // only read from
  return fuse_lowlevel_notify_store(session, number, 0, &buffer, FUSE_BUF_NO_SPLICE) == 0;
}

}  // namespace

bool Neighbours::start(fuse_session* session) {
  session_ = session;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Neighbours::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Neighbours::was_read(std::uint64_t number) {
  if (!tree_.is_record(number)) return;
  {
    const std::lock_guard lock(mutex_);
    Walker* walker = walker_at(number);
    if (walker == nullptr) {
      walker = &oldest();
      if (walker->waits) return;
      *walker = {.pushed = number, .next = number + 1, .left_out = number + 1, .window = kFirstWindow};
    }
    const bool comes = number >= walker->left_out;
    walker->last = number;
    walker->used_at = ++time_;
    if (!comes || walker->waits) return;
    if (walker->pushed < number) walker->pushed = number;
    if (walker->pause > 0) {
      --walker->pause;
      walker->next = walker->left_out = number + 1;
      return;
    }
    waiting_.push_back(walker);
    walker->waits = true;
  }
  wake_.notify_one();
}

Neighbours::Walker* Neighbours::walker_at(std::uint64_t number) {
  const auto found = std::ranges::find_if(walkers_, [number](const Walker& walker) {
    return walker.window != 0 && number > walker.last && number <= walker.next;
  });
  return found == walkers_.end() ? nullptr : &*found;
}

// Who has gone on for a while is not soon forgotten for those who read here and there.
Neighbours::Walker& Neighbours::oldest() {
  return *std::ranges::min_element(walkers_, {}, [](const Walker& walker) {
    return walker.used_at + (walker.window > kFirstWindow ? kPatience : 0);
  });
}

void Neighbours::push(Walker& walker, std::unique_lock<std::mutex>& lock) {
  const std::uint64_t window = walker.window;
  const std::uint64_t behind = walker.pushed;
  lock.unlock();
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stored_records = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t left_out = 0;
  std::uint64_t pushed = behind;
  std::uint64_t next = 0;
  bool known = true;
  const auto take = [&](std::uint64_t number, Bytes record) {
    next = number;
    const bool is_full = records == window || bytes >= kWindowBytes;
    if (is_full || record.size() > kLargestRecord) return false;
    const bool shall_ask = left_out == 0 && (records >= window / 4 * 3 || bytes >= kWindowBytes / 4 * 3);
    if (shall_ask) left_out = number;
    const bool is_stored = !shall_ask && !record.empty();
    known = !is_stored || store(session_, number, record);
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
  const Caller quick(Caller::Work::kQuick);  // a bomb behind one walker must not keep the others
  try {
    tree_.walk_on(behind, take);
  } catch (const std::bad_alloc&) {
    known = false;  // the pause after that is time for others to give memory back
  }
  pushed_records_.fetch_add(stored_records, std::memory_order_relaxed);
  pushed_bytes_.fetch_add(stored_bytes, std::memory_order_relaxed);
  lock.lock();
  walker.pushed = std::max(walker.pushed, pushed);
  walker.next = std::max(next, walker.last + 1);
  walker.left_out = left_out != 0 ? left_out : walker.next;
  walker.window = std::min(2 * window, kLargestWindow);
  walker.failures = known ? 0 : std::min(walker.failures + 1, kMostFailures);
  if (!known) walker.pause = (1u << walker.failures) - 1;
}

void Neighbours::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Walker& walker = *waiting_.front();
    waiting_.pop_front();
    push(walker, lock);
    walker.waits = false;
  }
}

}  // namespace recordfs
