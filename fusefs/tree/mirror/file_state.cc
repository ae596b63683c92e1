#include "fusefs/tree/mirror/file_state.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace recordfs {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kFineStep = 20'000'000;  // nanoseconds; longer than a tick of any kernel
constexpr std::int64_t kCoarseStep = 2;         // seconds; for filesystems whose times are whole seconds

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

FileState FileState::of(const struct stat& st) {
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .size = static_cast<std::uint64_t>(st.st_size),
          .mode = st.st_mode,
          .uid = st.st_uid,
          .gid = st.st_gid,
          .modified = st.st_mtim,
          .changed = st.st_ctim};
}

bool FileState::is_unchanged(const FileState& other) const {
  return is_same_file(other) && size == other.size && mode == other.mode && uid == other.uid && gid == other.gid &&
         same(modified, other.modified) && same(changed, other.changed);
}

bool FileState::is_settled(const timespec& now) const {
  const std::int64_t seconds = now.tv_sec - changed.tv_sec;
  if (seconds < 0 || seconds > kCoarseStep) return true;
  const std::int64_t age = seconds * kNanoseconds + now.tv_nsec - changed.tv_nsec;
  return age < 0 || age > (changed.tv_nsec == 0 ? kCoarseStep * kNanoseconds : kFineStep);
}

timespec current_time() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

Error place_error(int error_number) {
  const bool is_gone = error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP;
  if (is_gone) return {.code = Code::kNotFound, .detail = "no such name"};
  return {.code = Code::kIo, .detail = std::strerror(error_number), .os_error = error_number};
}

Error stale_error() { return {.code = Code::kIo, .detail = "the file was replaced or modified", .os_error = ESTALE}; }

}  // namespace recordfs
