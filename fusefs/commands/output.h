// Output: the standard output of a command.
#pragma once

#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

// Writes all bytes. Returns 0, or errno.
int write_all(int descriptor, Bytes bytes);

// Buffers small pieces and writes large ones directly. After an error (a full disk, a closed pipe) it writes nothing
// more, so callers that write much check good(). Not thread-safe.
class Output {
 public:
  Output() = default;
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(Bytes bytes);
  void write(std::string_view text) { write(as_bytes(text)); }
  // Writes the buffer.
  void flush();
  bool good() const { return error_ == 0; }

  // Flushes, and prints the error if there was one other than EPIPE. Returns kExitGood or kExitPartlyDone.
  int finish();

 private:
  void write_through(Bytes bytes);

  std::string gathered_;
  int error_ = 0;  // errno
};

}  // namespace recordfs
