// RootedDir: a directory of the source, and access to what is below it and nothing else.
#pragma once

#include <memory>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "fusefs/tree/mirror/file_state.h"
#include "fusefs/tree/mirror/recordfs_mounts.h"

namespace recordfs {

// A file of any type that was found, but not opened for reading.
struct Looked {
  Descriptor descriptor;     // opened with O_PATH, except for the directory itself
  FileState state;           // of a mount of recordfs: only the device
  bool is_recordfs = false;  // a mount of recordfs, which must not be accessed
};

// Access never follows a symbolic link, even if one is created meanwhile. It includes other filesystems that are
// mounted below, but not mounts of recordfs.
//
// Paths are relative to the directory and may have any length. "" is the directory itself. Thread-safe. Functions fail
// as place_error() says. Those that are not static also fail as may_ask() does, before they access a filesystem. Static
// functions do not check, and may block.
class RootedDir {
 public:
  // Opens a directory for listing. Follows links in `path`, because the user has named it.
  static Result<std::shared_ptr<const RootedDir>> open(const std::string& path);

  // Returns the path that open() was given.
  const std::string& name() const { return name_; }
  // Returns the directory's state when it was opened.
  const FileState& state() const { return directory_.state; }

  // Returns the filesystem of a device, as Source::filesystem() does: 0 if it cannot hang. Any filesystem mounted below
  // the directory counts as one that may hang.
  std::uint64_t filesystem(std::uint64_t device) const {
    return device == directory_.state.device ? filesystem_ : device;
  }
  // Succeeds if the calling thread may wait for that device's filesystem. Fails as RequestContext::permit_wait_for()
  // does.
  Result<void> may_ask(std::uint64_t device) const;

  Result<Looked> look(const std::string& path) const;
  // `name` is one component. Fails with kNotFound for "." and "..".
  Result<Looked> look_in(const Looked& directory, const std::string& name) const;

  static Result<Descriptor> open_directory(const Looked& directory);
  // Opens a regular file for reading. Fails with kNotFound for any other type of file, without waiting for it. `device`
  // is the file's device when it was looked up.
  Result<Descriptor> open_file(const std::string& path, std::uint64_t device) const;
  static Result<Descriptor> open_file_in(int directory, const std::string& name);
  static Result<std::string> target(const Looked& link);

 private:
  RootedDir(std::string name, Looked directory);

  const std::string name_;
  const Looked directory_;
  const std::uint64_t filesystem_;  // 0: cannot hang
  RecordfsMounts recordfs_mounts_;
};

}  // namespace recordfs
