// Base of objects with a background thread that runs while requests wait for its progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/store/wait_ticket.h"

namespace recordfs {

// The first wait() starts the thread. If work() fails, all requests are resumed, one of them gets the failure, and the
// next wait() starts a thread that continues. Public functions may be called from any thread.
class BackgroundWork : public Waitable {
 public:
  // Starts the thread, unless it runs.
  void start();
  std::uint64_t wait(const WaitTicket& ticket, std::function<void()> resume) override;
  bool cancel(std::uint64_t wait_id) override;

 protected:
  using Lock = std::unique_lock<std::mutex>;

  // Works, on the thread, until all tickets are reached or stopping_. Called with `lock` locked. Unlocks it meanwhile,
  // and may leave it unlocked if all tickets are reached, or on failure. May throw std::bad_alloc. Then, as after a
  // failure, the next call continues.
  virtual Result<void> work(const RequestContext& context, Lock& lock) = 0;
  // Returns whether a request no longer has to wait. If not, neither has one with the same key and a larger value.
  virtual bool has_reached(SearchKey search_key, std::uint64_t value) const = 0;

  // Returns why work() failed, once; otherwise kPending. REQUIRES: mutex_ is locked.
  Error failure_or_pending(SearchKey search_key, std::uint64_t value);
  // Returns whether a request waits. REQUIRES: mutex_ is locked.
  bool has_waiters() const { return !waiters_.empty(); }
  // Returns the least value along a key for which a request waits; nullopt if none waits. REQUIRES: mutex_ is locked.
  std::optional<std::uint64_t> least_awaited(SearchKey search_key) const {
    const auto found = waiters_.lower_bound({search_key, 0});
    if (found == waiters_.end() || found->first.first != search_key) return std::nullopt;
    return found->first.second;
  }
  // Resumes the requests that no longer have to wait. Unlocks meanwhile.
  void resume_waiters(Lock& lock);
  // Cancels work(), and joins the thread. Destructors of derived classes must call it first.
  void stop();

  mutable std::mutex mutex_;  // guards the following, and the members of derived classes
  bool running_ = false;
  bool stopping_ = false;

 private:
  struct Waiter {
    std::uint64_t wait_id;
    std::function<void()> resume;
  };

  std::thread start_next();
  void run();

  std::thread thread_;
  std::optional<Error> failure_;  // of work(), until it was returned
  std::multimap<std::pair<SearchKey, std::uint64_t>, Waiter> waiters_;
  std::uint64_t next_wait_id_ = 1;
  std::atomic<bool> cancelled_{false};  // set with stopping_, to cancel the work on a chunk
};

}  // namespace recordfs
