#include "fusefs/commands/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::size_t kGathered = 128u << 10;

}  // namespace

int write_all(int descriptor, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

void Output::write(Bytes bytes) {
  if (gathered_.size() + bytes.size() > kGathered) flush();
  if (bytes.size() >= kGathered) return write_through(bytes);
  gathered_.append(as_text(bytes));
}

void Output::flush() {
  write_through(as_bytes(gathered_));
  gathered_.clear();
}

void Output::write_through(Bytes bytes) {
  if (good()) error_ = write_all(STDOUT_FILENO, bytes);
}

int Output::finish() {
  flush();
  if (good()) return kExitGood;
  if (error_ != EPIPE) print_message(fmt::format("standard output: {}", std::strerror(error_)));
  return kExitPartlyDone;
}

}  // namespace recordfs
