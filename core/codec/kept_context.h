// Caches one codec context per thread.
#pragma once

#include <pthread.h>

#include <memory>

namespace recordfs {

// Holds at most one context per thread and frees it when the thread ends. The main thread's context lives until the
// program ends.
//
// Does not use thread_local with a destructor: the C library aborts the program if it cannot allocate memory to
// register one.
//
// REQUIRES: static storage duration, because the key is never deleted. Thread-safe.
template <class Context, class Free>
class KeptContext {
 public:
  using Pointer = std::unique_ptr<Context, Free>;

  KeptContext() : has_key_(::pthread_key_create(&key_, [](void* kept) { Free()(static_cast<Context*>(kept)); }) == 0) {}

  // Removes and returns this thread's context, or null if there is none.
  Pointer take() {
    if (!has_key_) return nullptr;
    Pointer kept(static_cast<Context*>(::pthread_getspecific(key_)));
    if (kept) ::pthread_setspecific(key_, nullptr);
    return kept;
  }

  // Stores `context` for this thread in place of the previous one. Frees it at once if it cannot be stored.
  void keep(Pointer context) {
    take();
    if (has_key_ && ::pthread_setspecific(key_, context.get()) == 0) static_cast<void>(context.release());
  }

 private:
  pthread_key_t key_{};
  const bool has_key_;
};

}  // namespace recordfs
