// TextOutput: gathers what is written.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/bytes.h"

namespace recordfs {

// Buffers small pieces, and writes large ones without a copy. After an error (a full disk, a closed pipe) it writes
// nothing more, so callers that write much check good(). Not thread-safe.
class TextOutput {
 public:
  TextOutput() = default;
  virtual ~TextOutput() = default;
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  void write(Bytes bytes) {
    if (bytes.size() > buffer_.size() - gathered_) return write_beyond_buffer(bytes);
    copy_bytes(bytes, buffer_.span().subspan(gathered_));
    gathered_ += bytes.size();
  }
  void write(std::string_view text) { write(as_bytes(text)); }
  // Writes the buffer.
  void flush();
  bool good() const { return error_ == 0; }

 protected:
  // Writes all bytes, at least one. Returns 0, or errno. Implementations call flush() in their destructors.
  virtual int write_through(Bytes bytes) = 0;
  int error() const { return error_; }

 private:
  void write_beyond_buffer(Bytes bytes);
  void pass_on(Bytes bytes);

  Buffer buffer_;             // empty until the first use
  std::size_t gathered_ = 0;  // bytes of it that are not written yet
  int error_ = 0;             // errno
};

}  // namespace recordfs
