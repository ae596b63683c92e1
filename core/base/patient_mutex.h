// PatientMutex: for work that may take long and is done by one thread at a time. Quick threads do not wait for slow
// ones.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/base/caller.h"

namespace recordfs {

// How often a thread that waits looks whether its caller gave up.
inline constexpr std::chrono::milliseconds kLook{20};

// Waits like condition.wait(lock, is_over). False: the calling thread's caller gave up before.
template <class Predicate>
bool wait_patiently(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Predicate is_over) {
  if (!Caller::may_give_up()) {
    condition.wait(lock, is_over);
    return true;
  }
  while (!is_over()) {
    if (Caller::gave_up()) return false;
    condition.wait_for(lock, kLook);
  }
  return true;
}

// Any thread.
class PatientMutex {
 public:
  class [[nodiscard]] Held {
   public:
    explicit Held(PatientMutex& mutex) : mutex_(&mutex) {}
    ~Held() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    Held(Held&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Held& operator=(Held&&) = delete;

   private:
    PatientMutex* mutex_;
  };

  // Waits until nobody has it. Fails as Caller::may_be_slow() does: for a quick thread, when one that is not has it.
  Result<Held> lock() {
    std::unique_lock lock(mutex_);
    const bool is_quick = Caller::is_quick();
    const bool is_over = wait_patiently(freed_, lock, [&] { return !is_held_ || (is_quick && is_held_for_long_); });
    if (!is_over || is_held_) {
      auto refused = Caller::may_be_slow();
      if (!refused) return std::move(refused).error();
    }
    is_held_ = true;
    is_held_for_long_ = !is_quick;
    if (is_held_for_long_) freed_.notify_all();
    return Held(*this);
  }

 private:
  void unlock() {
    {
      const std::lock_guard lock(mutex_);
      is_held_ = false;
    }
    freed_.notify_all();
  }

  std::mutex mutex_;  // held for a moment; guards what follows
  std::condition_variable freed_;
  bool is_held_ = false;
  bool is_held_for_long_ = false;
};

}  // namespace recordfs
