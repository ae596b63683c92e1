// RequestContext: what the calling thread may do for the request that it works on, and whether that request is still
// wanted.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Scoped: installs itself as the calling thread's context and restores the previous one on destruction. A thread
// without one may do everything, and its work is always wanted. Destroyed by the thread that made it. The static
// functions are about the calling thread.
class RequestContext {
 public:
  // Each may do what those before it may.
  enum class Work : std::uint8_t {
    kNonBlocking,  // neither waits for a filesystem that may hang nor does slow work
    kMayBlock,     // waits for a filesystem, does no slow work
    kAny,
  };

  // Work is slow from so many bytes on, read or made for one caller.
  static constexpr std::uint64_t kSlow = 32u << 20;

  using Filesystems = std::vector<std::uint64_t>;

  // `cancelled` may become true at any time and outlives this. Null: the request is never cancelled. The thread may
  // wait for `filesystems` only, which outlive this; null: for any.
  explicit RequestContext(Work work, const std::atomic<bool>* cancelled = nullptr,
                          const Filesystems* filesystems = nullptr);
  ~RequestContext();
  RequestContext(const RequestContext&) = delete;
  RequestContext& operator=(const RequestContext&) = delete;

  static Work work() { return current_ == nullptr ? Work::kAny : current_->work_; }
  static bool is_non_blocking() { return work() == Work::kNonBlocking; }
  // Whether the thread was refused anything. A refusal looks like a passing failure, and is never logged.
  static bool was_refused() { return refused() != Work::kNonBlocking; }
  // What a thread needs that makes the next attempt. kNonBlocking: nothing was refused.
  static Work refused() { return current_ == nullptr ? Work::kNonBlocking : current_->refused_; }
  static bool cancelled() {
    return current_ != nullptr && current_->cancelled_ != nullptr &&
           current_->cancelled_->load(std::memory_order_relaxed);
  }
  // Whether a waiting thread has to check from time to time whether its request was cancelled.
  static bool can_be_cancelled() { return current_ != nullptr && current_->cancelled_ != nullptr; }

  // Succeeds if the thread may do such work. Fails with kPending if not, and with kInterrupted if the request was
  // cancelled.
  static Result<void> permit(Work needed);
  // Asked before slow work, and between its pieces. Fails as permit().
  static Result<void> permit_slow_work() { return permit(Work::kAny); }
  // Asked before anything that can wait for `filesystem`, as Source::filesystem() has it. Fails as permit(), and also
  // if the thread may wait for others only.
  static Result<void> permit_wait_for(std::uint64_t filesystem);
  // Asked before `bytes` more are read or made. Fails as permit_slow_work() once their sum is slow.
  static Result<void> spend(std::uint64_t bytes);

  // The filesystem that the request needs, as far as known; after a refusal, the one needed then. 0: none that may
  // hang.
  static std::uint64_t filesystem() { return current_ == nullptr ? 0 : current_->filesystem_; }
  static void set_filesystem(std::uint64_t filesystem) {
    if (current_ != nullptr && !was_refused()) current_->filesystem_ = filesystem;
  }

 private:
  static thread_local RequestContext* current_;

  static Error refusal(Work needed);

  const Work work_;
  const std::atomic<bool>* const cancelled_;
  const Filesystems* const filesystems_;
  RequestContext* const before_;
  std::uint64_t done_ = 0;  // bytes
  std::uint64_t filesystem_ = 0;
  Work refused_ = Work::kNonBlocking;
};

}  // namespace recordfs
