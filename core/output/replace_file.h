// Writes a file as a whole.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/helper_process.h"
#include "core/base/result.h"

namespace recordfs {

// Gives a file this content, or leaves it as it is: the content is on the disk before it takes the file's name. Links
// are followed. A file that exists keeps its owner and mode; a new one gets `mode` without the umask. Pipes and devices
// are written to, and so is a file whose directory or owner does not permit more. Fails with kIo and the errno. Not
// thread-safe, because it changes the umask briefly.
Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode);

// A file that a confined process replaces. It has a child process for a regular file, which replaces no other. Not
// thread-safe.
class ReplacedFile {
 public:
  // Writes nothing, but opens a pipe or device, which may wait for a reader. `mode`: as of replace_file(). Fails with
  // kIo, also if a new file cannot be created; other errors are write()'s. REQUIRES: the process has one thread.
  static Result<ReplacedFile> at(const std::string& path, mode_t mode);

  // Does what replace_file() does, with a limit of 4 GiB. Fails with kIo.
  Result<void> write(std::string_view content) const;

 private:
  explicit ReplacedFile(Descriptor opened) : opened_(std::move(opened)) {}
  explicit ReplacedFile(HelperProcess writer) : writer_(std::move(writer)) {}

  Descriptor opened_;  // a pipe or device
  HelperProcess writer_;
};

}  // namespace recordfs
