// Captures what libfuse writes to stderr.
#pragma once

#include <string>

namespace recordfs {

// Redirects the process's stderr, and its children's, to a file in memory. libfuse and fusermount3 report mount
// failures only there. Does nothing if the file cannot be created. At most one object at a time.
class CapturedStderr {
 public:
  CapturedStderr();
  ~CapturedStderr();
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  // Restores stderr and returns the first 4 KiB that were written. Later calls return an empty string.
  std::string end();

 private:
  int file_ = -1;
  int stderr_ = -1;
};

}  // namespace recordfs
