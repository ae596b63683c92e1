// FileState: the identity and state of a file of the source.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>

#include "core/base/result.h"

struct stat;

namespace recordfs {

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

  bool is_same_file(const FileState& other) const { return device == other.device && inode == other.inode; }
  // Returns whether both are the same file in the same state, as far as size, times, owner and mode show.
  bool is_unchanged(const FileState& other) const;
  // Returns whether any change after `now` will show in the times, given the granularity of timestamps. A time in the
  // future is from another machine's clock and counts as settled.
  bool is_settled(const timespec& now) const;
};

// Returns the time for is_settled(). Take it before the state.
timespec current_time();

// Converts the errno of a failed call on a path of the source. Returns kNotFound if the path does not exist without
// following links. Otherwise returns kIo with os_error.
Error place_error(int error_number);

// Returns the error for a node whose file is gone or has changed: kIo with ESTALE. The kernel then looks the path up
// again.
Error stale_error();

}  // namespace recordfs
