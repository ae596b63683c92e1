#include "core/decoding/protobuf/deep_call.h"

#include <pthread.h>

#include <exception>
#include <new>

namespace recordfs::messages {
namespace {

constexpr std::size_t kStack = 64u << 20;  // bytes; unused pages take no memory

struct Call {
  const std::function<void()>& work;
  std::exception_ptr failure{};
};

void* run(void* argument) {
  Call& call = *static_cast<Call*>(argument);
  try {
    call.work();
  } catch (...) {
    call.failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void call_deep(const std::function<void()>& work) {
  Call call{work};
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) throw std::bad_alloc();
  pthread_t thread{};
  const bool is_started =
      ::pthread_attr_setstacksize(&attributes, kStack) == 0 && ::pthread_create(&thread, &attributes, run, &call) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!is_started) throw std::bad_alloc();
  ::pthread_join(thread, nullptr);
  if (call.failure) std::rethrow_exception(call.failure);
}

}  // namespace recordfs::messages
