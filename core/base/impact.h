// How failures affect the result of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// Records that could not be read or written.
struct LossCount {
  std::uint64_t records = 0;
  bool may_be_more = false;

  // Adds records. `count`: nullopt: unknown, but at least `at_least`.
  void add(std::optional<std::uint64_t> count, std::uint64_t at_least = 0);
  bool is_none() const { return records == 0 && !may_be_more; }
};

// Returns "3", "at least 3", "an unknown number".
std::string to_string(const LossCount& losses);

}  // namespace recordfs
