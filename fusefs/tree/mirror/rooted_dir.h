// RootedDir: a directory of the source and what stands below it, reached without ever leaving it.
#pragma once

#include <memory>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "fusefs/tree/mirror/file_state.h"
#include "fusefs/tree/mirror/recordfs_mounts.h"

namespace recordfs {

// What stands at a place: something of any type, not opened.
struct Looked {
  Descriptor descriptor;     // with O_PATH, unless it is that of the directory itself
  FileState state;           // of a mount of recordfs: the device alone
  bool is_recordfs = false;  // recordfs is mounted here; nothing was asked of it, and nothing may be
};

// Symbolic links are never followed, whoever puts them where and when. Other filesystems that are mounted below belong
// to it, mounts of recordfs do not.
//
// Paths are relative to the directory and may be of any length; "" is the directory itself. Functions fail as
// place_error() says, and as may_ask() before they ask a filesystem. Any thread.
class RootedDir {
 public:
  // Opens a directory that can be listed. Follows links in `path`: it is the user who names it.
  static Result<std::shared_ptr<const RootedDir>> open(const std::string& path);

  // The path that it was opened by.
  const std::string& name() const { return name_; }
  // Of the directory itself, when it was opened.
  const FileState& state() const { return directory_.state; }

  // The filesystem of that device, which is this directory's or one mounted below. 0: it does not hang.
  std::uint64_t filesystem(std::uint64_t device) const {
    return device == directory_.state.device ? filesystem_ : device;
  }
  // Succeeds if the calling thread may ask that device's filesystem. Fails as RequestContext::permit_wait_for() does.
  Result<void> may_ask(std::uint64_t device) const;

  Result<Looked> look(const std::string& path) const;
  // `name` is one component. Nothing is found by "." and "..".
  Result<Looked> look_in(const Looked& directory, const std::string& name) const;

  // Opens a directory for reading its names.
  static Result<Descriptor> open_directory(const Looked& directory);
  // Opens a regular file for reading, by its path or by its name in an open directory. Whatever else stands there is
  // not waited for: kNotFound. `device`: that of the file, when it was looked at.
  Result<Descriptor> open_file(const std::string& path, std::uint64_t device) const;
  static Result<Descriptor> open_file_in(int directory, const std::string& name);
  // Where a symbolic link points to.
  static Result<std::string> target(const Looked& link);

 private:
  RootedDir(std::string name, Looked directory);

  const std::string name_;
  const Looked directory_;
  const std::uint64_t filesystem_;  // 0: the directory's own does not hang
  RecordfsMounts recordfs_mounts_;
};

}  // namespace recordfs
