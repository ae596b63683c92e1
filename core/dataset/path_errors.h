// Errors about a path, which their details begin with.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"

namespace recordfs {

// Returns an error whose detail is "PATH: WHY".
inline Error with_path(std::string_view path, Code code, std::string_view why, int os_error = 0) {
  std::string detail(path);
  detail += ": ";
  detail += why;
  return {.code = code, .detail = std::move(detail), .os_error = os_error};
}

// Returns the error for a word that names more shards than there may be.
inline Error too_many(std::string_view word, const NamingBounds& bounds) {
  return with_path(word, Code::kLimit, "a data set of more than " + std::to_string(bounds.shards) + " shards");
}

}  // namespace recordfs
