// What a process finds around it: variables, files, the time. Tests replace it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace recordfs::fetch {

// Returns the error for a setting or a URL that cannot be used.
inline Error unsupported(std::string detail) { return {.code = Code::kUnsupported, .detail = std::move(detail)}; }

struct Environment {
  std::function<std::string(const char* name)> variable;  // returns "" for one that is not set
  std::function<std::chrono::system_clock::time_point()> now;

  // Returns the file that a variable names, or this one; "~/" at its beginning is the home directory.
  std::string file(const char* name, const std::string& otherwise) const;
  // Returns whether a variable is set to a word for yes.
  bool is_set(const char* name) const;
};

// Returns that of this process. Thread-safe as getenv(3) is.
Environment process_environment();

// Returns a file's content. Fails with kIo, and with kLimit if it is longer than 1 MiB; the error names the file.
Result<std::string> read_small_file(const std::string& path);

// Returns a text without white space at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace recordfs::fetch
