// Result<T>: a value, or an Error with its position. It uses the names of std::expected.
//
// A function of the core that can fail returns a Result. The only exception is std::bad_alloc, which the standard
// library throws. It is caught once for each request, background thread and task, which then report kOutOfMemory.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "core/base/bytes.h"

namespace recordfs {

enum class Code : std::uint8_t {
  kDamage,       // the bytes contradict themselves or a checksum
  kUnfinished,   // the container ends inside something: it is still being written, or truncated
  kStale,        // valid bytes that belong to an earlier use of the file
  kUnsupported,  // this build lacks the codec or the variant; otherwise no damage found
  kLimit,        // larger than Limits allow; otherwise no damage found
  kNoContainer,  // no format recognizes the bytes
  kNotFound,     // there is no such record, chunk or name
  kPending,      // repeat the call after waiting for Error::wait, or with more permission (RequestContext)
  kInterrupted,  // the request was cancelled, or its object is stopping; EINTR in the mount
  kChanged,      // the source is no longer the file that was opened
  kIo,           // a system call failed; Error::os_error says why
  kUnreadable,   // a read of these bytes failed, and others can be read: UnreadableRange
  kOutOfMemory,
};

// Returns a short English phrase for log lines. Static storage.
std::string_view to_string(Code code);

// Returns whether the cause is in the bytes, so that retrying fails again. All other failures may pass. Bytes count as
// permanently unreadable for a source that looks for such bytes (WindowedSource).
bool is_permanent(Code code);

struct WaitTicket;  // core/store/wait_ticket.h

struct Error {
  Code code = Code::kDamage;
  Position position = 0;               // in the container; 0 if none applies
  std::string detail;                  // the reason, without the file's name and a full stop
  int os_error = 0;                    // errno for kIo, otherwise 0
  std::shared_ptr<WaitTicket> wait{};  // of kPending: what to wait for; null: retry with more permission
  Position end{};                      // after the bytes that are wrong; 0: unknown
};

// Returns kOutOfMemory. REQUIRES: at most 15 characters, for which std::string allocates nothing.
inline Error out_of_memory(const char* what) { return {.code = Code::kOutOfMemory, .detail = what}; }

// Returns the error for an errno value: kIo, described as strerror(3) does. Thread-safe.
Error system_error(int number);

// Returns "byte 65536: chunk header hash mismatch".
std::string to_string(const Error& error);

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value().
  T& value() & { return get(); }
  const T& value() const& { return get(); }
  T&& value() && { return std::move(get()); }
  T& operator*() & { return get(); }
  const T& operator*() const& { return get(); }
  T&& operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &get(); }

  template <class U>
  T value_or(U&& fallback) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
  }

  // REQUIRES: !has_value().
  Error& error() & { return *error_or_null(); }
  const Error& error() const& { return *error_or_null(); }
  Error&& error() && { return std::move(*error_or_null()); }

 private:
  T& get() {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& get() const {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  Error* error_or_null() {
    assert(!has_value());
    return std::get_if<1>(&state_);
  }
  const Error* error_or_null() const {
    assert(!has_value());
    return std::get_if<1>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return !failed_; }

  // REQUIRES: !has_value().
  Error& error() & { return error_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace recordfs

// Evaluates a Result<T>, and returns its error from the enclosing function or lambda if it failed. Discards the value.
// The enclosing function returns a Result, or another type that an Error converts to.
//
//   TRY(check_header(bytes));
#define TRY(...) RECORDFS_TRY(RECORDFS_UNIQUE_NAME(recordfs_result_), __VA_ARGS__)

// Initializes a variable with the value of a Result<T>, or returns the error like TRY. Moves from a temporary Result,
// and copies from an lvalue. A variable declared as a reference is valid for the whole scope. The declaration must not
// contain a comma; the expression may. It may also name an existing variable. The macro expands to several statements,
// so an `if` around it needs braces.
//
//   ASSIGN_OR_RETURN(const auto chunk, reader.decode(info));
#define ASSIGN_OR_RETURN(declaration, ...) \
  RECORDFS_ASSIGN_OR_RETURN(RECORDFS_UNIQUE_NAME(recordfs_result_), declaration, __VA_ARGS__)

// Internal to the macros above. The counter gives nested uses different names. It differs between translation units, so
// inline functions and templates in headers must not use the macros.
#define RECORDFS_JOIN(a, b) a##b
#define RECORDFS_JOIN_EXPANDED(a, b) RECORDFS_JOIN(a, b)
#define RECORDFS_UNIQUE_NAME(prefix) RECORDFS_JOIN_EXPANDED(prefix, __COUNTER__)
#define RECORDFS_TRY(result, ...)                            \
  do {                                                       \
    if (auto&& result = __VA_ARGS__; !result) {              \
      return std::forward<decltype(result)>(result).error(); \
    }                                                        \
  } while (false)
#define RECORDFS_ASSIGN_OR_RETURN(result, declaration, ...)           \
  auto&& result = __VA_ARGS__;                                        \
  if (!result) return std::forward<decltype(result)>(result).error(); \
  declaration = *std::forward<decltype(result)>(result)
