// Errors as Python exceptions. Functions need the GIL, except where stated.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace recordfs::python {

// Throws ValueError, as Python does, if the path has a NUL byte, where functions of the system would end it.
void check_path(std::string_view path);
// Returns text as Python's file system functions return it, so that it may have any bytes.
pybind11::str path_text(std::string_view path);
// Returns text in which invalid UTF-8 is replaced.
pybind11::str shown_text(std::string_view text);

// Returns the reason of an error with arguments of methods in place of the hints at options of the command; those
// without such an argument are left out. Needs no GIL.
std::string with_arguments(std::string reason);

// Returns the exception for an error about a file: of recordfs/_errors.py, OSError, MemoryError, ...
pybind11::object exception_of(const Error& error, std::string_view path);

// Returns whether an iteration may go on after this error, because another attempt would fail too.
inline bool may_skip(const Error& error) { return is_permanent(error.code) || error.code == Code::kNoContainer; }

// Throws an exception object.
[[noreturn]] void raise(const pybind11::object& exception);

// Returns the value, or throws the exception of the error.
template <class T>
T value_or_raise(Result<T> result, std::string_view path) {
  if (!result) raise(exception_of(result.error(), path));
  return std::move(*result);
}

}  // namespace recordfs::python
