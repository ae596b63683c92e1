// Blocks until a catalog or the like is ready, for callers that may block.
#pragma once

#include <future>
#include <memory>

#include "core/base/result.h"
#include "core/store/wait_ticket.h"

namespace recordfs {

// Repeats `attempt`, a function of a WaitTicket, until it does not return kPending. Not on a thread that the wait
// depends on. Thread-safe.
template <class Attempt>
auto wait_for(const Attempt& attempt) {
  for (;;) {
    WaitTicket ticket;
    auto outcome = attempt(ticket);
    if (outcome || outcome.error().code != Code::kPending) return outcome;
    const auto reached = std::make_shared<std::promise<void>>();
    if (ticket.waitable->wait(ticket, [reached] { reached->set_value(); }) != 0) reached->get_future().wait();
  }
}

}  // namespace recordfs
