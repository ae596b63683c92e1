// The outcome of a function about a record.
#pragma once

#include <cstdint>
#include <utility>

#include "core/base/result.h"
#include "core/dataset/opened_set.h"
#include "core/python/errors.h"

namespace recordfs::python {

// Returns what a function about a record returned. Throws the exception of its error.
template <class T>
T value_of_record(Result<T> result, const OpenedSet& set, std::uint64_t ordinal) {
  if (!result) raise(exception_of(result.error(), path_of_record(set, ordinal, result.error())));
  return std::move(*result);
}

}  // namespace recordfs::python
