// What a request that got kPending waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/store/scanner.h"

namespace recordfs {

class Waitable;

// Error::wait of kPending.
struct WaitTicket {
  Waitable* waitable = nullptr;
  SearchKey search_key = SearchKey::kChunks;  // for a Catalog
  std::uint64_t value = 0;                    // Catalog: a value of search_key; KeyIndex: a number of turns
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

}  // namespace recordfs
