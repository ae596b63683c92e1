#include "core/base/file_io.h"

#include <unistd.h>

#include <cerrno>

namespace recordfs {

bool read_fully(int descriptor, std::uint64_t at, MutableBytes out) {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool write_fully(int descriptor, std::uint64_t at, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace recordfs
