// Failures of functions of the C interface, and the one place where exceptions end.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "core/api/recordfs.h"
#include "core/base/fork.h"
#include "core/base/result.h"
#include "core/base/thrown.h"

namespace recordfs::api {

// Returns the status that stands for a code.
recordfs_status status_of(Code code);

struct Failure {
  recordfs_status status = RECORDFS_OK;
  Error error{};
  std::string path{};
  bool can_continue = false;
};
// Returns the failure that an error is. `path`: of the file that it is about; empty: none.
Failure failure_of(Error error, std::string path, bool can_continue = false);
// Returns RECORDFS_MISUSE.
Failure misuse(std::string why);

// Makes a failure the last one of this thread, and returns its status. Does not throw.
recordfs_status report(const Failure& failure) noexcept;

// What an object of the C interface begins with.
struct Handle {
  const unsigned generation = fork_generation();
  bool is_of_parent() const { return generation != fork_generation(); }
};

// Returns function(), which returns a status, or the status of what it throws.
template <class Function>
recordfs_status guarded(const Function& function) noexcept {
  recordfs_status status = RECORDFS_OK;
  const int thrown = error_thrown_by([&] { status = function(); });
  if (thrown == 0) return status;
  const bool is_memory = thrown == ENOMEM;
  return report(failure_of(
      {.code = is_memory ? Code::kOutOfMemory : Code::kIo, .detail = {}, .os_error = is_memory ? 0 : thrown}, {}));
}

// The same for a function of objects, none of which may be null or of a parent process.
template <class Function, class... Handles>
recordfs_status guarded_for(const Function& function, const Handles*... handles) noexcept {
  return guarded([&] {
    const bool has_null = (... || !handles);
    if (has_null) return report(misuse("an argument is NULL"));
    if ((... || handles->is_of_parent())) return report(misuse("the process has forked since this object was made"));
    prepare_after_fork();
    return function();
  });
}

// Sets *result to what make() returns. If that fails, sets it to T() and reports failure(error).
template <class T, class Make, class FailureOf, class... Handles>
recordfs_status answer(T* result, const Make& make, const FailureOf& failure, const Handles*... handles) noexcept {
  if (result != nullptr) *result = T();
  return guarded_for(
      [&] {
        if (result == nullptr) return report(misuse("an argument is NULL"));
        auto made = make();
        if (!made) return report(failure(std::move(made.error())));
        *result = std::move(*made);
        return RECORDFS_OK;
      },
      handles...);
}

// Sets *result to T(), and reports that an argument is NULL.
template <class T>
recordfs_status null_argument(T* result) noexcept {
  if (result != nullptr) *result = T();
  return guarded([] { return report(misuse("an argument is NULL")); });
}

// Calls iterator->next(result), which sets *result or returns another status than RECORDFS_OK.
template <class Iterator, class T>
recordfs_status advance(Iterator* iterator, const T** result) noexcept {
  if (result != nullptr) *result = nullptr;
  return guarded_for([&] { return result == nullptr ? report(misuse("an argument is NULL")) : iterator->next(result); },
                     iterator);
}

// Frees an object, but not in a forked child, which does not have its threads.
template <class Object>
void free_object(Object* object) noexcept {
  if (object != nullptr && !object->is_of_parent()) delete object;
}

}  // namespace recordfs::api
