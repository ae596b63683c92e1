// The directory that a mount stands on: found, named, made where it is not there, and taken away again at the end.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.h"
#include "fusefs/options.h"

namespace recordfs {

// What mount.fuse3(8) and containers give instead of a directory, when they have opened /dev/fuse and mounted by
// themselves.
bool is_open_device(const std::string& path);

// Settles what `options` leaves open, with Form::kCommand: a last place that is a file becomes one of options.sources;
// then, and where none was given, the mount point is named after the first source, in the current directory. Makes
// nothing. True: the name was chosen here. Fails with kIo where every name is taken; the detail is a whole message.
Result<bool> choose_mount_point(Options& options);

// A mount point that stands ready. One that was made is removed when the object goes, if nothing is mounted on it or
// stands in it by then. One thread.
class MountPoint {
 public:
  // Makes the directory where it is not there, but for mount(8), which does not want it. Fails with kIo, with the
  // reason alone in the detail, where nothing can be mounted.
  static Result<MountPoint> at(const Options& options);

  ~MountPoint() { remove(); }
  MountPoint(MountPoint&& other) noexcept;
  MountPoint& operator=(MountPoint&&) = delete;

  bool was_made() const { return was_made_; }

  // From the root: a daemon leaves the directory where it was started.
  const std::string& path() const { return path_; }

 private:
  MountPoint(std::string path, bool was_made) : path_(std::move(path)), was_made_(was_made) {}
  void remove() const;

  std::string path_;
  bool was_made_;
};

}  // namespace recordfs
