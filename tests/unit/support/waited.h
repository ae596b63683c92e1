// Waits for calls that depend on the catalog's scan.
#pragma once

#include "core/store/wait_ticket.h"

namespace recordfs::testing {

// Repeats a call, waiting for the catalog in between, until it is no longer pending.
template <class Call>
auto waited(const Call& call) {
  return wait_for(call);
}

}  // namespace recordfs::testing
