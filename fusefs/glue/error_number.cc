#include "fusefs/glue/error_number.h"

#include <cerrno>

namespace recordfs {

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
    case Code::kChanged:
    case Code::kIo: return EIO;
  }
  return EIO;
}

}  // namespace recordfs
