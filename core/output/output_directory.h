// OutputDirectory: a directory that appears under its name when its files are complete.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/helper_process.h"
#include "core/base/result.h"

namespace recordfs {

// Until it is published it is a hidden directory beside its name. A child process, which may do what a confined one may
// not, renames it, or removes it with its files if this process ends in any way before that. Not thread-safe.
class OutputDirectory {
 public:
  // Creates the hidden directory. Fails with kIo: EEXIST if the name is taken. REQUIRES: the process has one thread.
  static Result<std::unique_ptr<OutputDirectory>> create(const std::string& path);
  OutputDirectory(std::string unfinished, HelperProcess helper)
      : unfinished_(std::move(unfinished)), helper_(std::move(helper)) {}

  // Returns the path of the hidden directory.
  const std::string& path() const { return unfinished_; }
  // Gives it its name. Fails with kIo: EEXIST if that was taken meanwhile. The last function to call.
  Result<void> publish() const;

 private:
  const std::string unfinished_;
  HelperProcess helper_;
};

}  // namespace recordfs
