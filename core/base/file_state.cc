#include "core/base/file_state.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::int64_t kFineStep = 20'000'000;  // nanoseconds; longer than a tick of any kernel
constexpr std::int64_t kCoarseStep = 2;         // seconds; for filesystems whose times are whole seconds
constexpr std::chrono::seconds kCoarseStamp{kCoarseStep};
// A change within this time after the last one may leave the same time.
constexpr std::chrono::milliseconds kFinestChange{15};

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

// Returns how long until any later change gives a file a later time than this; negative: any change does.
std::chrono::nanoseconds until_over(const timespec& time) {
  const auto changed = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  const std::chrono::milliseconds least = time.tv_nsec == 0 ? kCoarseStamp : kFinestChange;
  return changed + least - std::chrono::system_clock::now().time_since_epoch();
}

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

bool FileState::is_regular() const { return S_ISREG(mode); }

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

SourceId FileState::id() const {
  const bool is_touch_settled = until_over(changed).count() < 0;
  return {.source = fmt::format("{:x}-{:x}", device, inode),
          .version = fmt::format("{}-{}.{:09}", size, modified.tv_sec, modified.tv_nsec),
          .touch = is_touch_settled ? fmt::format("{}.{:09}", changed.tv_sec, changed.tv_nsec) : std::string(),
          .is_settled = until_over(modified).count() < 0};
}

std::chrono::nanoseconds FileState::unsettled_for() const {
  std::chrono::nanoseconds longest{0};
  for (const timespec& time : {modified, changed}) {
    const auto left = until_over(time);
    if (left <= kCoarseStamp) longest = std::max(longest, left + std::chrono::nanoseconds(1));
  }
  return longest;
}

timespec current_time() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

}  // namespace recordfs
