// Output: what a command writes to standard output.
#pragma once

#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

// Gathers small pieces and writes large ones through. What can't be written (a full disk, a closed pipe whose signal is
// ignored) sticks: from then on nothing is written, and whoever writes much asks good() from time to time. One thread.
class Output {
 public:
  explicit Output(int descriptor) : descriptor_(descriptor) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(Bytes bytes);
  void write(std::string_view text) { write(as_bytes(text)); }
  // Hands what was gathered to the system.
  void flush();
  bool good() const { return error_ == 0; }

  // Flushes; then says on stderr why something could not be written, but for a closed pipe, which needs no words.
  // Returns kExitGood or kExitPartlyDone.
  int finish();

 private:
  void write_through(Bytes bytes);

  const int descriptor_;
  std::string gathered_;
  int error_ = 0;  // errno
};

}  // namespace recordfs
