#include "core/base/impact.h"

#include <cerrno>

namespace recordfs {

bool is_denied(const Error& error) { return error.os_error == EACCES || error.os_error == EPERM; }

Impact impact_of(const Error& error) {
  switch (error.code) {
    case Code::kUnreadable:
    case Code::kDamage:
    case Code::kUnfinished:
    case Code::kStale: return Impact::kDamage;
    case Code::kNoContainer: return Impact::kUnopened;
    case Code::kIo: return is_denied(error) ? Impact::kUnopened : Impact::kIncomplete;
    default: return Impact::kIncomplete;
  }
}

}  // namespace recordfs
