// Waiting for the catalog, for callers that have a thread to wait with.
#pragma once

#include <future>
#include <memory>

#include "core/base/result.h"
#include "core/store/catalog.h"

namespace recordfs {

// Makes `attempt`, a function with a Goal, as often as it takes to have another answer than kPending. Any thread but a
// catalog's own.
template <class Attempt>
auto wait_for(const Attempt& attempt) {
  for (;;) {
    Goal goal;
    auto outcome = attempt(goal);
    if (outcome || outcome.error().code != Code::kPending) return outcome;
    const auto reached = std::make_shared<std::promise<void>>();
    if (goal.catalog->wait(goal, [reached] { reached->set_value(); }) != 0) reached->get_future().wait();
  }
}

}  // namespace recordfs
