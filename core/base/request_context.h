// What a function may do for the request that it works for, and whether that request was cancelled.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

class ReadWindow;
class RequestContext;

// Waits before memory is allocated, so that threads that decode much take turns.
class LargeAllocations {
 public:
  virtual ~LargeAllocations() = default;
  // Blocks until a large allocation may proceed, or the request is cancelled.
  virtual void on_large_allocation(const RequestContext& context) = 0;
};

// The first parameter of every function that reads a source, allocates much, or waits. A small value; what it refers
// to must outlive it. Used by one thread. The default permits everything, and cannot be cancelled.
class RequestContext {
 public:
  // Permissions, each of which includes the previous ones. With any of them a function may read local files, and wait
  // briefly for a lock or a cached value on which a thread with no more permission works.
  enum class Permission : std::uint8_t {
    kNonBlocking,  // must not wait for a filesystem that may hang, nor do slow work
    kMayBlock,     // may wait for a filesystem; no slow work
    kAny,
  };

  // What one attempt at a request did. Written by the thread that attempts it.
  struct Attempt {
    std::uint64_t bytes = 0;  // read or produced so far: see spend()
    // The permission that the next attempt needs; kNonBlocking: nothing was refused.
    Permission refused = Permission::kNonBlocking;
    // The filesystem that the request needs; after a refusal, the one that was refused. 0: none that may hang, or
    // unknown.
    std::uint64_t filesystem = 0;

    // Returns whether a permission was missing. Then errors must not be logged, because another thread retries.
    bool was_refused() const { return refused != Permission::kNonBlocking; }
  };

  // Work is slow if it reads or produces this many bytes for one request.
  static constexpr std::uint64_t kSlow = 32u << 20;
  static constexpr std::uint64_t kLargeAllocation = 16u << 20;  // bytes

  using Filesystems = std::vector<std::uint64_t>;

  RequestContext() = default;
  // `cancelled` may become true at any time; null: cannot be cancelled. `filesystems` are the only ones that the thread
  // may wait for; null: all.
  RequestContext(Permission permission, Attempt& attempt, const std::atomic<bool>* cancelled = nullptr,
                 const Filesystems* filesystems = nullptr)
      : permission_(permission), attempt_(&attempt), cancelled_(cancelled), filesystems_(filesystems) {}
  // Permits everything until `cancelled` is true.
  explicit RequestContext(const std::atomic<bool>& cancelled) : cancelled_(&cancelled) {}

  // Return a context for a part of the request that also ...
  RequestContext with(LargeAllocations& allocations) const;  // asks before large allocations
  RequestContext with(ReadWindow& window) const;             // reads the window's source through it
  // Returns a context in which a source that knows of unreadable bytes fills them (kUnreadableFill) or fails at them.
  // For reads whose result is verified, or only tells where to read.
  RequestContext filling_unreadable(bool fills = true) const;

  Permission permission() const { return permission_; }
  bool is_non_blocking() const { return permission_ == Permission::kNonBlocking; }
  bool was_refused() const { return attempt_ != nullptr && attempt_->was_refused(); }
  Permission refused() const { return attempt_ == nullptr ? Permission::kNonBlocking : attempt_->refused; }
  bool cancelled() const { return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed); }
  // Returns whether a waiting thread must poll cancelled().
  bool can_be_cancelled() const { return cancelled_ != nullptr; }
  ReadWindow* window() const { return window_; }
  bool fills_unreadable() const { return fills_unreadable_; }

  // Succeeds if the request has this permission. Fails with kInterrupted if it was cancelled; the mount replies EINTR.
  // Fails with kPending if the permission is missing.
  Result<void> permit(Permission needed) const;
  // Called before slow work, and between its pieces. Fails like permit().
  Result<void> permit_slow_work() const { return permit(Permission::kAny); }
  // Called before anything that can wait for `filesystem` (see Source::filesystem()). Fails like permit(), and with
  // kPending if the request may wait for others only.
  Result<void> permit_wait_for(std::uint64_t filesystem) const;
  // Called before `bytes` more are read or produced. Fails like permit_slow_work() once their sum reaches kSlow.
  Result<void> spend(std::uint64_t bytes) const;
  void set_filesystem(std::uint64_t filesystem) const {
    if (attempt_ != nullptr && !attempt_->was_refused()) attempt_->filesystem = filesystem;
  }

  // Called before `bytes` are allocated: once for each allocation, and also when a vector grows by doubling. May block
  // if `bytes` is large; then fails like permit_slow_work(), and the caller must not allocate.
  Result<void> reserve(std::uint64_t bytes) const {
    return bytes < kLargeAllocation ? Result<void>{} : reserve_large();
  }
  // Calls reserve(), and throws std::bad_alloc if it fails. For memory of the standard library.
  void announce(std::uint64_t bytes) const {
    if (!reserve(bytes)) throw std::bad_alloc();
  }
  // Calls announce() if appending `more` elements to `vector` reallocates it.
  template <typename Element>
  void announce_growth(const std::vector<Element>& vector, std::size_t more = 1) const {
    if (vector.capacity() - vector.size() >= more) return;
    announce((vector.size() + std::max(vector.size(), more)) * sizeof(Element));
  }

 private:
  Error refusal(Permission needed) const;
  Result<void> reserve_large() const;

  Permission permission_ = Permission::kAny;
  Attempt* attempt_ = nullptr;  // null: nothing can be refused
  const std::atomic<bool>* cancelled_ = nullptr;
  const Filesystems* filesystems_ = nullptr;
  LargeAllocations* allocations_ = nullptr;
  ReadWindow* window_ = nullptr;
  bool fills_unreadable_ = false;
};

}  // namespace recordfs
