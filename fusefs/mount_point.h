// The directory of a mount: how it is named, made, checked, and removed.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.h"
#include "fusefs/options.h"

namespace recordfs {

// Returns whether the mount point is an opened /dev/fuse that another program has mounted, such as mount.fuse3(8).
bool is_open_device(const std::string& path);

// Completes `options` of Form::kCommand. A last path that is a file, or with -o join a pattern, becomes a source. A
// missing mount point is named after the first source, in the current directory, but not created. Returns whether it
// chose the name. Fails with kIo if the names are taken; the detail is a whole message.
Result<bool> choose_mount_point(Options& options);

// A usable mount point. On destruction removes a directory that it created, if that is empty and nothing is mounted
// there. Not thread-safe.
class MountPoint {
 public:
  // Creates a missing directory, except for mount(8). Unmounts a dead recordfs mount there. Fails with kIo if mounting
  // is impossible; the detail is the reason alone.
  static Result<MountPoint> at(const Options& options);

  ~MountPoint() { remove(); }
  MountPoint(MountPoint&& other) noexcept;
  MountPoint& operator=(MountPoint&&) = delete;

  bool was_made() const { return was_made_; }

  // Absolute, because a daemon changes its directory.
  const std::string& path() const { return path_; }

 private:
  MountPoint(std::string path, bool was_made) : path_(std::move(path)), was_made_(was_made) {}
  void remove() const;

  std::string path_;
  bool was_made_;
};

}  // namespace recordfs
