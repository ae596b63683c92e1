// Caller: for whom a thread works, so that whatever takes long can ask whether it may, and whether it is still wanted.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/result.h"

namespace recordfs {

// While it lives, the calling thread works for it, and no more for the one before. A thread without one may do
// everything and is always wanted. Destroyed by the thread that made it; the static functions speak of the calling
// thread's.
class Caller {
 public:
  enum class Work : std::uint8_t {
    kQuick,  // what is slow is refused: the same is asked for again by a thread that has time
    kAny,
  };

  // From so many bytes on, read or made for one caller, work is slow.
  static constexpr std::uint64_t kSlow = 32u << 20;

  // `gave_up` may become true at any time, and outlives this; null: it waits to the end.
  explicit Caller(Work work, const std::atomic<bool>* gave_up = nullptr);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  static bool is_quick() { return current_ != nullptr && current_->work_ == Work::kQuick; }
  // What it was refused looks like a failure that may pass; nothing of that is to be told to people.
  static bool was_refused() { return current_ != nullptr && current_->refused_; }
  static bool gave_up() {
    return current_ != nullptr && current_->gave_up_ != nullptr && current_->gave_up_->load(std::memory_order_relaxed);
  }
  // Whether what it waits for is to be looked at now and then, for it may give up.
  static bool may_give_up() { return current_ != nullptr && current_->gave_up_ != nullptr; }

  // Asked before work that is known to be slow, and between its pieces. Fails with kPending where it is refused, and
  // with kInterrupted when the caller gave up.
  static Result<void> may_be_slow();
  // Asked before `bytes` more are read or made: the same where all of it together is slow.
  static Result<void> may_go_on(std::uint64_t bytes);

 private:
  static thread_local Caller* current_;

  const Work work_;
  const std::atomic<bool>* const gave_up_;
  Caller* const before_;
  std::uint64_t done_ = 0;  // bytes
  bool refused_ = false;
};

}  // namespace recordfs
