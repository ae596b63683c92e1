// What a request that got kPending waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/cancellable_mutex.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/store/scanner.h"

namespace recordfs {

class Waitable;

// Error::wait of kPending.
struct WaitTicket {
  Waitable* waitable = nullptr;
  SearchKey search_key = SearchKey::kChunks;  // for a Catalog
  std::uint64_t value = 0;                    // of search_key
  std::shared_ptr<const void> owner{};        // keeps the waitable alive; held by the waiter
};

class Waitable {
 public:
  Waitable() = default;
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;
  virtual ~Waitable() = default;

  // Calls `resume` once, on another thread, when `ticket` is reached or no progress is possible. Returns an id for
  // cancel(), or 0 if that is so already; then `resume` is not called. `resume` must be short, and must not call the
  // waitable. Any thread.
  virtual std::uint64_t wait(const WaitTicket& ticket, std::function<void()> resume) = 0;
  // Cancels a wait. Returns false if `resume` was called or is running. Any thread.
  virtual bool cancel(std::uint64_t wait_id) = 0;
};

// Returns kPending with a ticket.
inline Error pending(std::string detail, WaitTicket ticket) {
  return {.code = Code::kPending, .detail = std::move(detail), .wait = std::make_shared<WaitTicket>(std::move(ticket))};
}

// Returns whether a call failed because it has to wait for Error::wait.
inline bool is_waiting(const Error& error) { return error.code == Code::kPending && error.wait != nullptr; }

// Repeats `attempt` until it no longer has to wait, and blocks in between. Not on a thread that the wait depends on.
template <class Attempt>
auto wait_for(const Attempt& attempt) {
  for (;;) {
    auto outcome = attempt();
    if (outcome || !is_waiting(outcome.error())) return outcome;
    const WaitTicket& ticket = *outcome.error().wait;
    const auto reached = std::make_shared<std::promise<void>>();
    if (ticket.waitable->wait(ticket, [reached] { reached->set_value(); }) != 0) reached->get_future().wait();
  }
}

// The same, but returns kPending if the context is non-blocking, and kInterrupted if the request is cancelled.
template <class Attempt>
auto wait_for(const RequestContext& context, const Attempt& attempt) {
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_reached = false;
  };
  for (;;) {
    auto outcome = attempt();
    if (outcome || !is_waiting(outcome.error()) || context.is_non_blocking()) return outcome;
    const WaitTicket& ticket = *outcome.error().wait;
    const auto signal = std::make_shared<Signal>();
    const std::uint64_t wait_id = ticket.waitable->wait(ticket, [signal] {
      const std::lock_guard lock(signal->mutex);
      signal->is_reached = true;
      signal->changed.notify_all();
    });
    if (wait_id == 0) continue;
    std::unique_lock lock(signal->mutex);
    if (wait_or_cancel(context, signal->changed, lock, [&] { return signal->is_reached; })) continue;
    lock.unlock();
    ticket.waitable->cancel(wait_id);
    return decltype(outcome)(Error{.code = Code::kInterrupted, .detail = "cancelled"});
  }
}

}  // namespace recordfs
