// Waits for calls that depend on the catalog's scan.
#pragma once

#include "core/store/wait_ticket.h"
#include "tests/unit/support/signal.h"

namespace recordfs::testing {

// Repeats a call, waiting for the catalog in between, until it is no longer pending.
template <class Call>
auto waited(Call&& call) {
  for (;;) {
    WaitTicket ticket;
    auto result = call(ticket);
    if (result || result.error().code != Code::kPending) return result;
    const Signal resumed;
    if (ticket.waitable->wait(ticket, [resumed] { resumed.set(); }) != 0) resumed.wait();
  }
}

}  // namespace recordfs::testing
