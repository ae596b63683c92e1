// Loaded into a daemon: once a thread has sent the reply with the bytes in RECORDFS_LATE_REPLY, it sleeps for a second.
// So what it does after that reply comes after what other threads do for the next requests.
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

// Replaces the C library's function, which libfuse sends replies with.
extern "C" __attribute__((visibility("default"))) ssize_t writev(int file, const iovec* parts, int count) {
  const ssize_t sent = ::syscall(SYS_writev, file, parts, count);
  const char* const late = std::getenv("RECORDFS_LATE_REPLY");
  if (late == nullptr || sent < 0) return sent;
  const iovec& content = parts[count - 1];
  if (std::string_view(static_cast<const char*>(content.iov_base), content.iov_len) != late) return sent;
  const timespec second{1, 0};
  ::nanosleep(&second, nullptr);
  return sent;
}
