#include "core/python/process.h"

#include <pthread.h>

#include <atomic>

namespace recordfs::python {
namespace {

std::atomic<unsigned> generation{0};

}  // namespace

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

std::mutex& fork_safe_mutex() {
  static std::mutex mutex;
  return mutex;
}

void watch_forks() {
  ::pthread_atfork([] { fork_safe_mutex().lock(); }, [] { fork_safe_mutex().unlock(); },
                   [] {
                     fork_safe_mutex().unlock();
                     generation.fetch_add(1, std::memory_order_relaxed);
                   });
}

}  // namespace recordfs::python
