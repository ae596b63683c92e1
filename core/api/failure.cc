#include "core/api/failure.h"

#include <string_view>
#include <utility>

namespace recordfs::api {
namespace {

struct LastFailure {
  recordfs_error shown{RECORDFS_OK, 0, 0, 0, "", ""};
  std::string path{};
  std::string message{};
};

LastFailure& last_failure() {
  static thread_local LastFailure last;
  return last;
}

// Returns the detail without the path that it may begin with.
std::string_view without_path(std::string_view detail, std::string_view path) {
  constexpr std::string_view kAfterPath = ": ";
  const bool has_path = !path.empty() && detail.starts_with(path) && detail.substr(path.size()).starts_with(kAfterPath);
  return has_path ? detail.substr(path.size() + kAfterPath.size()) : detail;
}

}  // namespace

recordfs_status status_of(Code code) {
  switch (code) {
    case Code::kDamage:
    case Code::kStale:
    case Code::kUnreadable: return RECORDFS_DAMAGE;
    case Code::kUnfinished: return RECORDFS_UNFINISHED;
    case Code::kUnsupported: return RECORDFS_UNSUPPORTED;
    case Code::kLimit: return RECORDFS_LIMIT;
    case Code::kNoContainer: return RECORDFS_NO_CONTAINER;
    case Code::kNotFound: return RECORDFS_NOT_FOUND;
    case Code::kChanged: return RECORDFS_CHANGED;
    case Code::kOutOfMemory: return RECORDFS_NO_MEMORY;
    case Code::kPending:
    case Code::kInterrupted:
    case Code::kIo: break;
  }
  return RECORDFS_IO;
}

Failure failure_of(Error error, std::string path, bool can_continue) {
  const recordfs_status status = status_of(error.code);
  return {.status = status, .error = std::move(error), .path = std::move(path), .can_continue = can_continue};
}

Failure misuse(std::string why) { return {.status = RECORDFS_MISUSE, .error = {.detail = std::move(why)}}; }

recordfs_status report(const Failure& failure) noexcept {
  LastFailure& last = last_failure();
  const bool has_memory = has_memory_for([&] {
    last.path = failure.path;
    last.message = without_path(failure.error.detail, failure.path);
    if (last.message.empty()) last.message = to_string(failure.error.code);
  });
  const bool is_memory = failure.status == RECORDFS_NO_MEMORY || !has_memory;
  last.shown = {.status = failure.status,
                .os_error = failure.error.os_error,
                .can_continue = failure.can_continue ? 1 : 0,
                .position = failure.error.position,
                .path = has_memory ? last.path.c_str() : "",
                .message = is_memory ? "out of memory" : last.message.c_str()};
  return failure.status;
}

}  // namespace recordfs::api

const char* recordfs_version() { return RECORDFS_VERSION; }

const recordfs_error* recordfs_last_error() { return &recordfs::api::last_failure().shown; }
