#include "core/base/write_all.h"

#include <unistd.h>

#include <cerrno>

namespace recordfs {

int write_all(int descriptor, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace recordfs
