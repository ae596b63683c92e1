// A mutex for long work. Waiting for it respects the caller's RequestContext.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/base/request_context.h"

namespace recordfs {

// How often a waiting thread checks whether its request was cancelled.
inline constexpr std::chrono::milliseconds kCancellationPoll{20};

// Waits like condition.wait(lock, is_over). Returns false if the request was cancelled first.
template <class Predicate>
bool wait_or_cancel(const RequestContext& context, std::condition_variable& condition,
                    std::unique_lock<std::mutex>& lock, Predicate is_over) {
  if (!context.can_be_cancelled()) {
    condition.wait(lock, is_over);
    return true;
  }
  while (!is_over()) {
    if (context.cancelled()) return false;
    condition.wait_for(lock, kCancellationPoll);
  }
  return true;
}

// Thread-safe.
class CancellableMutex {
 public:
  class [[nodiscard]] Lock {
   public:
    explicit Lock(CancellableMutex& mutex) : mutex_(&mutex) {}
    ~Lock() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    Lock(Lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Lock& operator=(Lock&&) = delete;

   private:
    CancellableMutex* mutex_;
  };

  // Blocks until the mutex is free. Fails with kInterrupted if the request is cancelled. Fails with kPending if the
  // holder may do work that the caller may not.
  Result<Lock> lock(const RequestContext& context) {
    std::unique_lock lock(mutex_);
    const RequestContext::Permission permission = context.permission();
    const bool is_over = wait_or_cancel(context, freed_, lock, [&] { return !is_held_ || holder_ > permission; });
    if (!is_over || is_held_) {
      if (auto permitted = context.permit(holder_); !permitted) return std::move(permitted).error();
    }
    is_held_ = true;
    holder_ = permission;
    if (holder_ != RequestContext::Permission::kNonBlocking) freed_.notify_all();
    return Lock(*this);
  }

 private:
  void unlock() {
    {
      const std::lock_guard lock(mutex_);
      is_held_ = false;
    }
    freed_.notify_all();
  }

  std::mutex mutex_;  // held briefly; guards the following
  std::condition_variable freed_;
  bool is_held_ = false;
  RequestContext::Permission holder_ =
      RequestContext::Permission::kNonBlocking;  // permission of the current or last holder
};

}  // namespace recordfs
