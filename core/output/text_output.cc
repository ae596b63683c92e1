#include "core/output/text_output.h"

#include <new>
#include <utility>

namespace recordfs {

void TextOutput::write_beyond_buffer(Bytes bytes) {
  // Stays in a processor's cache. With 1.25 MiB, half as many calls take up to 1.05 times as long.
  constexpr std::size_t kBuffer = 256u << 10;
  flush();
  if (bytes.size() >= kBuffer) return pass_on(bytes);
  if (buffer_.empty()) {
    auto buffer = Buffer::allocate({}, kBuffer);
    if (!buffer) throw std::bad_alloc();
    buffer_ = std::move(*buffer);
  }
  write(bytes);
}

void TextOutput::flush() {
  pass_on(buffer_.view().first(gathered_));
  gathered_ = 0;
}

void TextOutput::pass_on(Bytes bytes) {
  if (good() && !bytes.empty()) error_ = write_through(bytes);
}

}  // namespace recordfs
