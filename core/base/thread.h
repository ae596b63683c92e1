// Starts threads.
#pragma once

#include <exception>
#include <thread>
#include <utility>

#include "core/base/sandbox.h"

namespace recordfs {

// Returns a thread that calls `run`, which must not throw; one that is not joinable if there is no thread or no memory
// for it. Does not throw. The thread is confined if the calling one is, or if confine_new_threads() was called.
template <class Run>
std::thread start_thread(Run run) {
  try {
    return std::thread([run = std::move(run), origin = ThreadOrigin()]() mutable {
      origin.begin();
      run();
    });
  } catch (const std::exception&) {
    return {};  // std::thread reports a lack of threads only in this way
  }
}

}  // namespace recordfs
