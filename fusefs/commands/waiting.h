// Waiting for a catalog and the like, for callers that have a thread to wait with.
#pragma once

#include <future>
#include <memory>

#include "core/base/result.h"
#include "core/store/wait_ticket.h"

namespace recordfs {

// Makes `attempt`, a function with a WaitTicket, as often as it takes to have another answer than kPending. Any thread
// but those that are waited for.
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
