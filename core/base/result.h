// Result<T>: a value, or an Error that says what is wrong and where. It spells std::expected's names.
//
// The core throws nothing on purpose; each function that can fail returns a Result. All of it is
// plain values, so it may be used from any thread.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "core/base/bytes.h"

namespace recordfs {

enum class Code : std::uint8_t {
  kDamage,       // the bytes contradict themselves or a checksum
  kUnfinished,   // the container ends inside something: a tail that is still being written, or cut off
  kStale,        // sound bytes that belong to an earlier use of the file
  kUnsupported,  // sound as far as can be told, but this build lacks the codec or the variant
  kLimit,        // sound as far as can be told, but larger than Limits allow
  kNoContainer,  // no format recognises the bytes
  kNotFound,     // there is no such record, chunk or name
  kPending,      // not known yet: the catalog has to come by first
  kInterrupted,  // the caller gave up
  kChanged,      // the source is no longer the file that was opened
  kIo,           // the operating system could not read; Error::os_error says why
  kOutOfMemory,
};

// A short English word for a code, as it stands in logs. Never empty.
std::string_view to_string(Code code);

// Whether a failure lies in the bytes themselves, so that another try fails in the same way. All others may pass.
bool is_permanent(Code code);

struct Error {
  Code code = Code::kDamage;
  Position position = 0;  // where in the container; 0 where no place applies
  std::string detail;     // why, without the file's name and without a final stop
  int os_error = 0;       // errno for kIo, otherwise 0
};

// kOutOfMemory, in a few words: fifteen characters take no memory themselves.
inline Error shortage(const char* what) { return {.code = Code::kOutOfMemory, .detail = what}; }

// "byte 65536: chunk header hash mismatch".
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

// Evaluates an expression of type Result<T>, and returns its error from the enclosing function or lambda if it failed.
// Discards the value. The enclosing function returns a Result, or another type that an Error converts to.
//
//   TRY(check_header(bytes));
#define TRY(...) RECORDFS_TRY(RECORDFS_UNIQUE_NAME(recordfs_result_), __VA_ARGS__)

// Initializes a variable with the value of a Result<T>, or returns the error like TRY. Moves the value out of a
// temporary Result, and copies it from an lvalue. A variable declared as a reference stays valid for the whole scope.
// The declaration must not contain a comma; the expression may. An existing variable can be assigned to as well.
// Expands to several statements, and so does not compile as the body of an `if` without braces.
//
//   ASSIGN_OR_RETURN(const auto chunk, reader.decode(info));
#define ASSIGN_OR_RETURN(declaration, ...) \
  RECORDFS_ASSIGN_OR_RETURN(RECORDFS_UNIQUE_NAME(recordfs_result_), declaration, __VA_ARGS__)

// The parts of the two macros above; not for use elsewhere. The counter keeps the names of nested uses apart.
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
