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

  // Return whether the request of the context, or the calling thread, was cancelled or can be.
  static bool is_cancelled(const RequestContext& context) {
    return context.cancelled() || (flag() != nullptr && *flag());
  }
  static bool is_possible(const RequestContext& context) { return context.can_be_cancelled() || flag() != nullptr; }

 private:
  static const std::atomic<bool>*& flag();
};

}  // namespace recordfs::remote
