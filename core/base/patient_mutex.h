// PatientMutex: for work that may take long and is done by one thread at a time. A thread does not wait for one that
// may do what it may not (see Caller).
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

  // Waits until it is free. Fails as Caller::may_do() if the holder may do what the calling thread may not.
  Result<Held> lock() {
    std::unique_lock lock(mutex_);
    const Caller::Work work = Caller::work();
    const bool is_over = wait_patiently(freed_, lock, [&] { return !is_held_ || holder_ > work; });
    if (!is_over || is_held_) {
      auto refused = Caller::may_do(holder_);
      if (!refused) return std::move(refused).error();
    }
    is_held_ = true;
    holder_ = work;
    if (holder_ != Caller::Work::kQuick) freed_.notify_all();
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
  Caller::Work holder_ = Caller::Work::kQuick;  // what the one that has it, or had it last, may do
};

}  // namespace recordfs
