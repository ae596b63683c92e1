// Calls that Ctrl-C interrupts. Python runs signal handlers on the main thread, with the GIL, so work that takes long
// runs on another thread meanwhile.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <future>
#include <utility>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/python/process.h"
#include "core/remote/interruption.h"

namespace recordfs::python {

inline constexpr std::chrono::milliseconds kSignalPoll{50};

// Returns work(context), which returns a Result. Runs it on another thread, without the GIL. If a signal handler raises
// an exception, cancels the work and throws that. REQUIRES: the GIL is held.
template <class Work>
auto run_long(const Work& work) -> decltype(work(RequestContext())) {
  std::atomic<bool> cancelled{false};
  prepare_after_fork();
  auto outcome = std::async(std::launch::async, [&] {
    const remote::Interruption interruption(cancelled);
    return work(RequestContext(cancelled));
  });
  for (bool is_over = false; !is_over;) {
    {
      const GilRelease release;
      is_over = outcome.wait_for(kSignalPoll) == std::future_status::ready;
    }
    if (!is_over && PyErr_CheckSignals() != 0) {
      cancelled = true;
      const GilRelease release;
      outcome.wait();
      break;
    }
  }
  if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
  return outcome.get();
}

// The same, but first tries on the calling thread whether it is quick.
template <class Work>
auto run(const Work& work) -> decltype(work(RequestContext())) {
  prepare_after_fork();
  {
    const GilRelease release;
    RequestContext::Attempt attempt;
    auto outcome = work(RequestContext(RequestContext::Permission::kNonBlocking, attempt));
    if (outcome || outcome.error().code != Code::kPending) return outcome;
  }
  return run_long(work);
}

}  // namespace recordfs::python
