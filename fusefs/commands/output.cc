#include "fusefs/commands/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/base/write_all.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"
#include "fusefs/progress_line.h"

namespace recordfs {

int Output::write_through(Bytes bytes) {
  constexpr std::size_t kPiece = 64u << 10;
  if (!file_) ProgressLine::make_way_for_output();
  if (!is_ascii_) return write_all(descriptor(), bytes);
  int failed = 0;
  for (; failed == 0 && !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size()))) {
    failed = write_all(descriptor(), as_bytes(ascii_of(as_text(bytes.first(std::min(kPiece, bytes.size()))))));
  }
  return failed;
}

int Output::finish() {
  flush();
  if (good()) return kExitGood;
  if (error() != EPIPE) print_message(fmt::format("{}: {}", name_, std::strerror(error())));
  return kExitPartlyDone;
}

}  // namespace recordfs
