// Cancels waits of functions that have no RequestContext.
#pragma once

#include <atomic>

#include "core/base/request_context.h"

namespace recordfs::remote {

// Scoped: waits of the calling thread for remote files end with kInterrupted once `cancelled` is true. Scopes do not
// nest.
class Interruption {
 public:
  explicit Interruption(const std::atomic<bool>& cancelled) { flag() = &cancelled; }
  ~Interruption() { flag() = nullptr; }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Ends the waits of all threads in the same way. Null: no longer. Thread-safe.
  static void end_all_waits_with(const std::atomic<bool>* cancelled) { of_process() = cancelled; }

  // Return whether the request of the context, or the calling thread, was cancelled or can be.
  static bool is_cancelled(const RequestContext& context) {
    const std::atomic<bool>* const all = of_process();
    return context.cancelled() || (flag() != nullptr && *flag()) || (all != nullptr && *all);
  }
  static bool is_possible(const RequestContext& context) {
    return context.can_be_cancelled() || flag() != nullptr || of_process() != nullptr;
  }

 private:
  static const std::atomic<bool>*& flag();
  static std::atomic<const std::atomic<bool>*>& of_process();
};

}  // namespace recordfs::remote
