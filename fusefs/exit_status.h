// Exit statuses of the mount and of the commands.
#pragma once

#include "core/base/impact.h"

namespace recordfs {

inline constexpr int kExitGood = 0;
inline constexpr int kExitWrongUse = 1;
inline constexpr int kExitCannotOpen = 2;  // a file cannot be opened, or is not a container
inline constexpr int kExitCannotMount = 3;
inline constexpr int kExitDamage = 4;
inline constexpr int kExitPartlyDone = 5;  // incomplete: a codec is missing, the output is full

// A retry may succeed: of cat --split, or because a database in use replaced its files faster than they could be read.
// EX_TEMPFAIL of sysexits.h, which schedulers can be configured to requeue on.
inline constexpr int kExitTryAgain = 75;

// grep returns 0 if a record was selected, 1 if not, and 2 after an error. get does the same for a key.
inline constexpr int kExitNotFound = 1;
inline constexpr int kExitGrepFailed = 2;

// Combines the statuses of several files: what a retry may fix first, then damage, then what could not be opened, then
// what was partly done.
constexpr int worse_of(int one, int other) {
  constexpr auto rank = [](int status) {
    switch (status) {
      case kExitTryAgain: return 101;
      case kExitDamage: return 100;
      case kExitCannotOpen: return 99;
      case kExitPartlyDone: return 98;
      default: return status;
    }
  };
  return rank(one) < rank(other) ? other : one;
}

// Returns the exit status of a job.
constexpr int exit_status_of(Impact impact) {
  switch (impact) {
    case Impact::kNone: return kExitGood;
    case Impact::kIncomplete: return kExitPartlyDone;
    case Impact::kUnopened: return kExitCannotOpen;
    case Impact::kDamage: return kExitDamage;
    case Impact::kPassing: break;
  }
  return kExitTryAgain;
}

}  // namespace recordfs
