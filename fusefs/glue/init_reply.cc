#include "fusefs/glue/init_reply.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fusefs/glue/operations.h"

namespace recordfs {

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)

namespace {

// The start of fuse_init_out in <linux/fuse.h>. It follows a fuse_out_header.
struct InitReply {
  std::uint32_t major, minor, max_readahead, flags;
};
constexpr std::uint32_t kParallelDirectoryOperations = 1u << 18;
constexpr std::size_t kReplyHeader = 16;

constexpr std::uint32_t kProtocolMajor = 7;

bool is_init_reply(const iovec* parts, int count) {
  if (count != 2 || parts[0].iov_len != kReplyHeader || parts[1].iov_len < sizeof(InitReply)) return false;
  InitReply reply{};
  std::memcpy(&reply, parts[1].iov_base, sizeof(reply));
  return reply.major == kProtocolMajor;
}

void complete(const iovec& init_reply) {
  char* flags = static_cast<char*>(init_reply.iov_base) + offsetof(InitReply, flags);
  std::uint32_t value = 0;
  std::memcpy(&value, flags, sizeof(value));
  value |= kParallelDirectoryOperations;
  std::memcpy(flags, &value, sizeof(value));
}

ssize_t write_reply(int descriptor, iovec* parts, int count, void* userdata) {
  auto& mount = *static_cast<Mount*>(userdata);
  if (!mount.awaits_init_reply.load(std::memory_order_relaxed) || !is_init_reply(parts, count)) {
    return ::writev(descriptor, parts, count);
  }
  mount.awaits_init_reply = false;
  if (mount.has_parallel_directories) complete(parts[1]);
  const ssize_t written = ::writev(descriptor, parts, count);
  if (written >= 0) mount.init_answered();
  return written;
}

ssize_t read_request(int descriptor, void* buffer, std::size_t size, void*) { return ::read(descriptor, buffer, size); }

}  // namespace

// The reply to INIT is the first one of a session.
int watch_init_reply(fuse_session* session) {
  static const fuse_custom_io transport = [] {
    fuse_custom_io io{};
    io.writev = write_reply;
    io.read = read_request;
    return io;
  }();
  return fuse_session_custom_io(session, &transport, fuse_session_fd(session));
}

void reply_to_init_follows(Mount&) {}

#else

int watch_init_reply(fuse_session*) { return 0; }

// libfuse sends the reply next. Until then the kernel holds back all other requests.
void reply_to_init_follows(Mount& mount) {
  if (mount.awaits_init_reply.exchange(false)) mount.init_answered();
}

#endif

}  // namespace recordfs
