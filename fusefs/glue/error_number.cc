#include "fusefs/glue/error_number.h"

#include <cerrno>

namespace recordfs {
namespace {

// Returns whether the reply repeats the source's errno. All other read errors are EIO.
bool is_passed_on(int os_error) { return os_error == EACCES || os_error == ESTALE; }

}  // namespace

int error_number(const Error& error) {
  switch (error.code) {
    case Code::kNotFound: return ENOENT;
    case Code::kUnsupported: return EOPNOTSUPP;
    case Code::kInterrupted: return EINTR;
    case Code::kOutOfMemory: return ENOMEM;
    case Code::kPending: return EAGAIN;
    case Code::kDamage:
    case Code::kUnfinished:
    case Code::kStale:
    case Code::kLimit:
    case Code::kNoContainer:
    case Code::kChanged: return EIO;
    case Code::kIo: return is_passed_on(error.os_error) ? error.os_error : EIO;
  }
  return EIO;
}

}  // namespace recordfs
