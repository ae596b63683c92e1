// FileLinker: makes hard links for a confined process.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/helper_process.h"
#include "core/base/result.h"

namespace recordfs {

// Has a child process that makes the links, because a confined process may not. Not thread-safe.
class FileLinker {
 public:
  // Makes links in a directory. `replaces`: existing files. Fails with kIo. REQUIRES: the process has one thread.
  static Result<FileLinker> into(const Descriptor& directory, bool replaces);

  // Gives the file at `path` the name `name` in the directory, too, or a path below the directory, whose own directory
  // exists. `status` is that of the file when it was read. Does nothing if it has that name already. Fails with
  // kChanged if the file is another one now, and with kIo: EEXIST if the name is taken and must not be, EXDEV if the
  // directory is in another filesystem. Nothing has the name then that had it not before.
  Result<void> link(const std::string& path, const struct stat& status, const std::string& name) const;

 private:
  explicit FileLinker(HelperProcess helper) : helper_(std::move(helper)) {}

  HelperProcess helper_;
};

}  // namespace recordfs
