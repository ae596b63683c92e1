#include "core/base/write_all.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace recordfs {

int write_all(int descriptor, Bytes bytes) {
  // Larger ones may have the kernel use large pages for a file, whose first writing can take ten times as long. A chunk
  // of 1 MiB with all its text is still one call.
  constexpr std::size_t kMostAtOnce = 1536u << 10;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace recordfs
