#include "core/remote/interruption.h"

namespace recordfs::remote {

const std::atomic<bool>*& Interruption::flag() {
  thread_local const std::atomic<bool>* cancelled = nullptr;
  return cancelled;
}

std::atomic<const std::atomic<bool>*>& Interruption::of_process() {
  static std::atomic<const std::atomic<bool>*> cancelled{nullptr};
  return cancelled;
}

}  // namespace recordfs::remote
