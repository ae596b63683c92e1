// What commands write to: standard output, or a file.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "fusefs/terminal.h"

namespace recordfs {

// Standard output, or a file. Buffers small pieces, and writes large ones without a copy. After an error (a full disk,
// a closed pipe) it writes nothing more, so callers that write much check good(). Not thread-safe.
class Output {
 public:
  Output() = default;
  // `name` is that of the file in messages.
  Output(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(Bytes bytes) {
    if (bytes.size() > buffer_.size() - gathered_) return write_beyond_buffer(bytes);
    copy_bytes(bytes, buffer_.span().subspan(gathered_));
    gathered_ += bytes.size();
  }
  void write(std::string_view text) { write(as_bytes(text)); }
  // Writes the buffer.
  void flush();
  bool good() const { return error_ == 0; }

  // Flushes, and prints the error if there was one other than EPIPE. Returns kExitGood or kExitPartlyDone.
  int finish();

 private:
  void write_beyond_buffer(Bytes bytes);
  void write_through(Bytes bytes);
  int descriptor() const { return file_ ? file_.number() : STDOUT_FILENO; }

  const Descriptor file_{};  // none: standard output
  const std::string name_ = "standard output";
  Buffer buffer_;             // empty until the first use
  std::size_t gathered_ = 0;  // bytes of it that are not written yet
  int error_ = 0;             // errno
  // Whether it is a terminal that shows only ASCII, and so gets other bytes as "\xHH".
  const bool is_ascii_ = is_ascii_terminal(descriptor());
};

}  // namespace recordfs
