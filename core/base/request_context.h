// What the calling thread may do for its current request, and whether that request was cancelled.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Scoped: installs itself as the calling thread's context, and restores the previous one on destruction. Destroyed by
// the same thread. A thread without a context may do any work and cannot be cancelled. The static functions concern the
// calling thread.
class RequestContext {
 public:
  // Permissions, each of which includes the previous ones.
  enum class Work : std::uint8_t {
    kNonBlocking,  // must not wait for a filesystem that may hang, nor do slow work
    kMayBlock,     // may wait for a filesystem; no slow work
    kAny,
  };

  // Work is slow if it reads or produces this many bytes for one request.
  static constexpr std::uint64_t kSlow = 32u << 20;

  using Filesystems = std::vector<std::uint64_t>;

  // `cancelled` may become true at any time; null: cannot be cancelled. `filesystems` are the only ones that the thread
  // may wait for; null: all. Both must outlive this.
  explicit RequestContext(Work work, const std::atomic<bool>* cancelled = nullptr,
                          const Filesystems* filesystems = nullptr);
  ~RequestContext();
  RequestContext(const RequestContext&) = delete;
  RequestContext& operator=(const RequestContext&) = delete;

  static Work work() { return current_ == nullptr ? Work::kAny : current_->work_; }
  static bool is_non_blocking() { return work() == Work::kNonBlocking; }
  // Returns whether a permission was missing. Then errors must not be logged, because another thread retries.
  static bool was_refused() { return refused() != Work::kNonBlocking; }
  // Returns the permission that the next attempt needs; kNonBlocking if nothing was refused.
  static Work refused() { return current_ == nullptr ? Work::kNonBlocking : current_->refused_; }
  static bool cancelled() {
    return current_ != nullptr && current_->cancelled_ != nullptr &&
           current_->cancelled_->load(std::memory_order_relaxed);
  }
  // Returns whether a waiting thread must poll cancelled().
  static bool can_be_cancelled() { return current_ != nullptr && current_->cancelled_ != nullptr; }

  // Succeeds if the thread has this permission. Fails with kInterrupted if the request was cancelled; the mount replies
  // EINTR. Fails with kPending if the permission is missing.
  static Result<void> permit(Work needed);
  // Called before slow work, and between its pieces. Fails like permit().
  static Result<void> permit_slow_work() { return permit(Work::kAny); }
  // Called before anything that can wait for `filesystem` (see Source::filesystem()). Fails like permit(), and with
  // kPending if the thread may wait for others only.
  static Result<void> permit_wait_for(std::uint64_t filesystem);
  // Called before `bytes` more are read or produced. Fails like permit_slow_work() once their sum for this context
  // reaches kSlow.
  static Result<void> spend(std::uint64_t bytes);

  // The filesystem that the request needs; after a refusal, the one that was refused. 0: none that may hang, or
  // unknown.
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
  std::uint64_t done_ = 0;  // bytes that spend() counted
  std::uint64_t filesystem_ = 0;
  Work refused_ = Work::kNonBlocking;
};

}  // namespace recordfs
