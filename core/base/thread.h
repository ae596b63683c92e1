// Starts threads.
#pragma once

#include <exception>
#include <thread>
#include <utility>

namespace recordfs {

// Returns a thread that calls `run`, which must not throw; one that is not joinable if there is no thread or no memory
// for it. Does not throw.
template <class Run>
std::thread start_thread(Run run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::exception&) {
    return {};  // std::thread reports a lack of threads only in this way
  }
}

}  // namespace recordfs
