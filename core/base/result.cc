#include "core/base/result.h"

#include <cstring>

#include <fmt/format.h>

namespace recordfs {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kDamage: return "damage";
    case Code::kUnfinished: return "unfinished";
    case Code::kStale: return "stale";
    case Code::kUnsupported: return "unsupported";
    case Code::kLimit: return "limit";
    case Code::kNoContainer: return "no container";
    case Code::kNotFound: return "not found";
    case Code::kPending: return "pending";
    case Code::kInterrupted: return "interrupted";
    case Code::kChanged: return "changed";
    case Code::kIo: return "input/output";
    case Code::kUnreadable: return "unreadable";
    case Code::kOutOfMemory: return "out of memory";
  }
  return "unknown";
}

bool is_permanent(Code code) {
  return code == Code::kDamage || code == Code::kUnfinished || code == Code::kStale || code == Code::kUnsupported ||
         code == Code::kLimit || code == Code::kUnreadable;
}

Error system_error(int number) { return {.code = Code::kIo, .detail = std::strerror(number), .os_error = number}; }

std::string to_string(const Error& error) { return fmt::format("byte {}: {}", error.position, error.detail); }

}  // namespace recordfs
