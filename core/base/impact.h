// How failures affect the result of a job.
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace recordfs {

// The worst of several is the greatest.
enum class Impact : std::uint8_t {
  kNone,
  kIncomplete,  // something was not read or written, but is not damaged
  kUnopened,    // a file cannot be opened, or is not a container
  kDamage,
  kPassing,  // a retry may succeed
};

// Returns whether the error is that of missing permission.
bool is_denied(const Error& error);
// Returns the impact of a failed read.
Impact impact_of(const Error& error);

}  // namespace recordfs
