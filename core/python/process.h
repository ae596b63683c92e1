// Objects and threads in a process that may fork, and whose interpreter may end before the process does.
#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/base/fork.h"

namespace recordfs::python {

// Returns whether this is the first interpreter of the process. PyGILState functions, and so this module, work in no
// other. Needs the GIL.
bool is_main_interpreter();

// Returns whether the calling thread has the GIL.
bool has_gil();

// Does not return.
[[noreturn]] void sleep_until_exit();

// Returns function(), which takes the GIL or runs Python code. When the interpreter ends, Python ends a daemon thread
// that does so by unwinding its stack. C++ permits that in no destructor, and what the frames own needs the GIL, so
// such a thread sleeps until the process ends instead, as in Python 3.14.
template <class Function>
auto in_python(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const abi::__forced_unwind&) {
    sleep_until_exit();
  }
}

// Scoped: releases the GIL. REQUIRES: the thread has it.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease() {
    in_python([this] { PyEval_RestoreThread(state_); });
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* const state_;
};

// Scoped: takes the GIL, also on a thread that Python did not start.
class GilAcquire {
 public:
  GilAcquire() : state_(in_python([] { return PyGILState_Ensure(); })) {}
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;

 private:
  const PyGILState_STATE state_;
};

// Lets one thread at a time use an iterator. Signal handlers and warning hooks run on a thread that may already use it.
class IteratorMutex {
 public:
  class Lock;

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  const unsigned generation_ = fork_generation();
};

// Scoped: waits for other threads, without the GIL. Throws std::runtime_error if this thread has the lock, or if the
// process has forked since the mutex was made. REQUIRES: the GIL is held.
class IteratorMutex::Lock {
 public:
  explicit Lock(IteratorMutex& mutex) : mutex_(mutex) {
    if (mutex_.generation_ != fork_generation()) {
      throw std::runtime_error("the process has forked since this iterator was made: make a new one");
    }
    if (mutex_.owner_ == std::this_thread::get_id()) {
      throw std::runtime_error("reentrant call: this thread is already reading from this iterator");
    }
    if (!mutex_.mutex_.try_lock()) {
      const GilRelease release;
      mutex_.mutex_.lock();
    }
    mutex_.owner_ = std::this_thread::get_id();
  }
  ~Lock() {
    mutex_.owner_ = std::thread::id();
    mutex_.mutex_.unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  IteratorMutex& mutex_;
};

// Returns a pointer whose object is destroyed without the GIL, because that may join threads; and never in a forked
// child, which does not have these threads.
template <class T>
std::shared_ptr<T> owned_by_process(std::unique_ptr<T> object) {
  return std::shared_ptr<T>(object.release(), [generation = fork_generation()](T* owned) {
    if (generation != fork_generation()) return;
    if (!has_gil()) {
      delete owned;
      return;
    }
    const GilRelease release;
    delete owned;
  });
}

}  // namespace recordfs::python
