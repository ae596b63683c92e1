// Bounds how much is decoded at the same time.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "core/base/cancellable_mutex.h"
#include "core/base/request_context.h"

namespace recordfs {

// Values that are being made do not count in a cache. Threads that make large ones take shares of this budget, and wait
// if it is used up. Thread-safe.
class DecodeBudget {
 public:
  // `on_taken` runs after each share was taken, without a lock, on the thread that took it. It can free cached values.
  explicit DecodeBudget(std::uint64_t bytes, std::function<void()> on_taken = {})
      : limit_(std::max<std::uint64_t>(bytes, 1)), on_taken_(std::move(on_taken)) {}

  // Scoped: a share of the budget. Construction blocks until enough is left, or no other share exists; so one share may
  // exceed the budget. Stops waiting if the request is cancelled; the caller must check for that.
  class Share {
   public:
    Share(const RequestContext& context, DecodeBudget& budget, std::uint64_t bytes)
        : budget_(budget), bytes_(bytes), has_it_(budget_.take(context, bytes_)) {}
    ~Share() {
      if (has_it_) budget_.give_back(bytes_);
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    DecodeBudget& budget_;
    const std::uint64_t bytes_;
    const bool has_it_;
  };

  // Scoped, for work whose memory is unknown, in a context that has this (RequestContext::with()). Takes nothing until
  // the first large allocation, which blocks until it has the whole budget. Stops waiting like Share. REQUIRES: the
  // thread has no Share of this budget.
  class Turn final : public LargeAllocations {
   public:
    explicit Turn(DecodeBudget& budget) : budget_(budget) {}
    ~Turn() override {
      if (has_it_) budget_.give_back(budget_.limit_);
    }

   private:
    void on_large_allocation(const RequestContext& context) override {
      if (!has_it_) has_it_ = budget_.take(context, budget_.limit_);
    }

    DecodeBudget& budget_;
    bool has_it_ = false;
  };

 private:
  // Returns false if the request was cancelled.
  bool take(const RequestContext& context, std::uint64_t bytes) {
    {
      std::unique_lock lock(mutex_);
      const auto has_room = [&] { return taken_ == 0 || (taken_ <= limit_ && bytes <= limit_ - taken_); };
      if (!wait_or_cancel(context, returned_, lock, has_room)) return false;
      taken_ += bytes;
    }
    if (on_taken_) on_taken_();
    return true;
  }
  void give_back(std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      taken_ -= bytes;
    }
    returned_.notify_all();
  }

  const std::uint64_t limit_;
  const std::function<void()> on_taken_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::uint64_t taken_ = 0;
};

}  // namespace recordfs
