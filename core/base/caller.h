// Caller: what the calling thread may do for the request that it works on, and whether that request is still wanted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Scoped: installs itself as the calling thread's caller and restores the previous one on destruction. A thread without
// one may do everything, and its work is always wanted. Destroyed by the thread that made it. The static functions are
// about the calling thread.
class Caller {
 public:
  // Each may do what those before it may.
  enum class Work : std::uint8_t {
    kQuick,     // neither waits for a filesystem that may hang nor does slow work
    kMayBlock,  // waits for a filesystem, does no slow work
    kAny,
  };

  // Work is slow from so many bytes on, read or made for one caller.
  static constexpr std::uint64_t kSlow = 32u << 20;

  using Filesystems = std::vector<std::uint64_t>;

  // `gave_up` may become true at any time and outlives this. Null: the caller never gives up. The thread may wait for
  // `filesystems` only, which outlive this; null: for any.
  explicit Caller(Work work, const std::atomic<bool>* gave_up = nullptr, const Filesystems* filesystems = nullptr);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  static Work work() { return current_ == nullptr ? Work::kAny : current_->work_; }
  static bool is_quick() { return work() == Work::kQuick; }
  // Whether the thread was refused anything. A refusal looks like a passing failure, and is never logged.
  static bool was_refused() { return refused() != Work::kQuick; }
  // What a thread needs that makes the next attempt. kQuick: nothing was refused.
  static Work refused() { return current_ == nullptr ? Work::kQuick : current_->refused_; }
  static bool gave_up() {
    return current_ != nullptr && current_->gave_up_ != nullptr && current_->gave_up_->load(std::memory_order_relaxed);
  }
  // Whether a waiting thread has to check from time to time if its caller gave up.
  static bool may_give_up() { return current_ != nullptr && current_->gave_up_ != nullptr; }

  // Succeeds if the thread may do such work. Fails with kPending if not, and with kInterrupted if its caller gave up.
  static Result<void> may_do(Work needed);
  // Asked before slow work, and between its pieces. Fails as may_do().
  static Result<void> may_be_slow() { return may_do(Work::kAny); }
  // Asked before anything that can wait for `filesystem`, as Source::filesystem() has it. Fails as may_do(), and also
  // if the thread may wait for others only.
  static Result<void> may_wait_for(std::uint64_t filesystem);
  // Asked before `bytes` more are read or made. Fails as may_be_slow() once their sum is slow.
  static Result<void> may_go_on(std::uint64_t bytes);

  // The filesystem that the request needs, as far as known; after a refusal, the one needed then. 0: none that may
  // hang.
  static std::uint64_t filesystem() { return current_ == nullptr ? 0 : current_->filesystem_; }
  static void set_filesystem(std::uint64_t filesystem) {
    if (current_ != nullptr && !was_refused()) current_->filesystem_ = filesystem;
  }

 private:
  static thread_local Caller* current_;

  static Error refusal(Work needed);

  const Work work_;
  const std::atomic<bool>* const gave_up_;
  const Filesystems* const filesystems_;
  Caller* const before_;
  std::uint64_t done_ = 0;  // bytes
  std::uint64_t filesystem_ = 0;
  Work refused_ = Work::kQuick;
};

}  // namespace recordfs
