// What a thread keeps of a codec for its next use.
#pragma once

#include <pthread.h>

#include <memory>

namespace recordfs {

// One for each thread, freed when the thread ends; the first thread's stays until the program ends. A thread_local with
// a destructor would not do: where there is no memory to note it, the C library ends the program. In static storage
// alone: it is never destroyed.
template <class Context, class Free>
class KeptContext {
 public:
  using Pointer = std::unique_ptr<Context, Free>;

  KeptContext() : has_key_(::pthread_key_create(&key_, [](void* kept) { Free()(static_cast<Context*>(kept)); }) == 0) {}

  // This thread's, which it keeps no longer; null when there is none.
  Pointer take() {
    if (!has_key_) return nullptr;
    Pointer kept(static_cast<Context*>(::pthread_getspecific(key_)));
    if (kept) ::pthread_setspecific(key_, nullptr);
    return kept;
  }

  // In place of what was kept. Freed at once where it can't be.
  void keep(Pointer context) {
    take();
    if (has_key_ && ::pthread_setspecific(key_, context.get()) == 0) static_cast<void>(context.release());
  }

 private:
  pthread_key_t key_{};
  const bool has_key_;
};

}  // namespace recordfs
