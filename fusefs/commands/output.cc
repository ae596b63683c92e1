#include "fusefs/commands/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "core/base/write_all.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"
#include "fusefs/progress_line.h"

namespace recordfs {

void Output::write_beyond_buffer(Bytes bytes) {
  constexpr std::size_t kBuffer = 256u << 10;
  flush();
  if (bytes.size() >= kBuffer) return write_through(bytes);
  if (buffer_.empty()) {
    auto buffer = Buffer::allocate({}, kBuffer);
    if (!buffer) throw std::bad_alloc();
    buffer_ = std::move(*buffer);
  }
  write(bytes);
}

void Output::flush() {
  write_through(buffer_.view().first(gathered_));
  gathered_ = 0;
}

void Output::write_through(Bytes bytes) {
  constexpr std::size_t kPiece = 64u << 10;
  if (!bytes.empty() && !file_) ProgressLine::make_way_for_output();
  if (!is_ascii_) {
    if (good()) error_ = write_all(descriptor(), bytes);
    return;
  }
  for (; good() && !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size()))) {
    error_ = write_all(descriptor(), as_bytes(ascii_of(as_text(bytes.first(std::min(kPiece, bytes.size()))))));
  }
}

int Output::finish() {
  flush();
  if (good()) return kExitGood;
  if (error_ != EPIPE) print_message(fmt::format("{}: {}", name_, std::strerror(error_)));
  return kExitPartlyDone;
}

}  // namespace recordfs
