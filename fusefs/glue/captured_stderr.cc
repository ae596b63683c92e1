#include "fusefs/glue/captured_stderr.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace recordfs {
namespace {

constexpr std::size_t kMostText = 4096;

}  // namespace

CapturedStderr::CapturedStderr()
    : file_(::memfd_create("stderr", MFD_CLOEXEC)), stderr_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
  if (file_ >= 0 && stderr_ >= 0) ::dup2(file_, STDERR_FILENO);
}

CapturedStderr::~CapturedStderr() {
  end();
  if (stderr_ >= 0) ::close(stderr_);
}

std::string CapturedStderr::end() {
  if (file_ < 0) return {};
  if (stderr_ >= 0) ::dup2(stderr_, STDERR_FILENO);
  std::string text(kMostText, '\0');
  const auto length = ::pread(file_, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  ::close(file_);
  file_ = -1;
  return text;
}

}  // namespace recordfs
