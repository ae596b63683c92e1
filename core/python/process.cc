#include "core/python/process.h"

#include <pthread.h>
#include <unistd.h>

#include "core/base/storage.h"

namespace recordfs::python {
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

bool is_main_interpreter() { return PyInterpreterState_Get() == PyInterpreterState_Main(); }

// PyGILState_Check() returns true on every thread once the process has had a second interpreter.
bool has_gil() {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState* const holder = PyThreadState_GetUnchecked();
#else
  PyThreadState* const holder = _PyThreadState_UncheckedGet();
#endif
  return holder != nullptr && holder == PyGILState_GetThisThreadState();
}

void sleep_until_exit() {
  for (;;) ::pause();
}

}  // namespace recordfs::python
