// Objects in a process that may fork. A child has one thread, and its copies of locks may be locked.
#pragma once

#include <Python.h>

#include <memory>
#include <mutex>
#include <utility>

namespace recordfs::python {

// Returns a number that is different in a forked child. Any thread.
unsigned fork_generation();

// Returns a mutex that no thread holds during fork(2), so that a child can lock it. Hold it briefly.
std::mutex& fork_safe_mutex();

// Registers handlers of fork(2). Called when the module is loaded.
void watch_forks();

// Returns a pointer whose object is destroyed without the GIL, because that may join threads; and never in a forked
// child, which does not have these threads.
template <class T>
std::shared_ptr<T> owned_by_process(std::unique_ptr<T> object) {
  return std::shared_ptr<T>(object.release(), [generation = fork_generation()](T* owned) {
    if (generation != fork_generation()) return;
    if (PyGILState_Check() == 0) {
      delete owned;
      return;
    }
    PyThreadState* const state = PyEval_SaveThread();
    delete owned;
    PyEval_RestoreThread(state);
  });
}

}  // namespace recordfs::python
