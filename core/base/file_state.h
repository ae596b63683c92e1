// What stat(2) tells of a file.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>

#include "core/base/source_id.h"

struct stat;

namespace recordfs {

// The identity and state of a local file. Its functions may be called on any thread.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // bytes
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  timespec modified{};
  timespec changed{};  // ctime, which no program can set back

  static FileState of(const struct stat& st);

  bool is_regular() const;
  bool is_same_file(const FileState& other) const { return device == other.device && inode == other.inode; }
  // Returns whether both are the same file in the same state, as far as size, times, owner and mode show.
  bool is_unchanged(const FileState& other) const;
  // Returns whether any change after `now` will show in the times, given the granularity of timestamps. A time in the
  // future is from another machine's clock and counts as settled.
  bool is_settled(const timespec& now) const;

  // The source is device and inode, and the version size and modification time. A touch that another one may not change
  // is not known. A time in the future is not settled.
  SourceId id() const;
  // Returns after how much time the id is settled and its touch is known; 0 if they are. Ignores a time in the future.
  // At most 2 seconds.
  std::chrono::nanoseconds unsettled_for() const;
};

// Returns the time for FileState::is_settled(). Take it before the state.
timespec current_time();

}  // namespace recordfs
