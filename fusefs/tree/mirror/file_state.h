// Which file stands at a place of the source, and in which state.
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
  timespec changed{};  // the inode's change: no program can put it back

  static FileState of(const struct stat& st);

  bool is_same_file(const FileState& other) const { return device == other.device && inode == other.inode; }
  // The same file with nothing written to it since, as far as its size, its times, its owner and its mode tell.
  bool is_unchanged(const FileState& other) const;
  // Whether a change from `now` on will show in the times: they are told in steps of the kernel's clock. A time to come
  // is that of another machine's clock, and counts as settled.
  bool is_settled(const timespec& now) const;
};

// The time that is_settled() is asked with.
timespec current_time();

// What a failed call of the operating system means for a place of the source: kNotFound where there is none, by this
// name and without following a link, otherwise kIo with os_error.
Error place_error(int error_number);

// A node of the mirror is no longer what it was: kIo with ESTALE, which makes the kernel look its path up once more.
Error stale_error();

}  // namespace recordfs
