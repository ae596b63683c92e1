#include "core/base/fork.h"

#include <pthread.h>

#include <atomic>

#include "core/base/storage.h"

namespace recordfs {
namespace {

std::atomic<unsigned> generation{0};
std::atomic<unsigned> prepared{0};  // the last generation that has called prepare_storages()

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

void prepare_after_fork() {
  const unsigned now = fork_generation();
  if (prepared.exchange(now, std::memory_order_relaxed) != now) prepare_storages();
}

}  // namespace recordfs
