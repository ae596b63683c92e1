// What others write to stderr, kept for a message of our own.
#pragma once

#include <string>

namespace recordfs {

// libfuse and the programs that it starts say why a mount fails on stderr alone. While an object of this class is
// there, whatever the process and its children write to stderr goes to a file in memory; where no such file can be
// made, it goes to stderr as before. One at a time.
class CapturedStderr {
 public:
  CapturedStderr();
  ~CapturedStderr();
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  // Gives stderr back, and returns what was written: at most 4 KiB of it. Empty from the second call on.
  std::string end();

 private:
  int file_ = -1;
  int stderr_ = -1;
};

}  // namespace recordfs
