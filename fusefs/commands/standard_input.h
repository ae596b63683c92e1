// StandardInput: FILE - of the commands.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs {

// The word on a command line that means standard input. A file of that name is ./-.
inline constexpr std::string_view kStandardInput = "-";

// Makes standard input readable at any position. A pipe is saved in a temporary file without a name, which is gone
// when the program ends in any way. Thread-safe.
class StandardInput {
 public:
  // `most_bytes`: the most that is saved.
  explicit StandardInput(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Returns a path by which this process can open what standard input has. The first call reads all of it. Fails with
  // kIo if that fails, if there is too much of it, or if it cannot be saved; so do later calls.
  Result<std::string> path();

 private:
  Result<std::string> saved();

  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  Descriptor file_;                            // guarded by mutex_
  std::optional<Result<std::string>> result_;  // guarded by mutex_
};

}  // namespace recordfs
