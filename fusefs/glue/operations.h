// Handlers of the kernel's requests. Each unpacks a request, calls the MountTree, and replies.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fusefs/glue/dispatcher.h"
#include "fusefs/glue/fuse.h"
#include "fusefs/glue/read_ahead_pusher.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

enum class RequestKind : std::uint8_t {
  kLookup,
  kGetattr,
  kReadlink,
  kOpen,
  kRead,
  kFlush,
  kOpendir,
  kReaddir,
  kReaddirplus,
  kStatfs,
  kGetxattr,
  kListxattr,
  kForget,
};

// Counts the kernel's requests by kind. Thread-safe.
class RequestCounts {
 public:
  void add(RequestKind kind) { counts_[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed); }

  // Returns the sum without FORGET, which the kernel sends when it needs memory.
  std::uint64_t asked() const;

  // Returns all kinds, with the number of requests.
  std::vector<std::pair<std::string_view, std::uint64_t>> by_kind() const;
  // Returns the kinds that occurred: "lookup 3, getattr 1", or "none".
  std::string text() const;

 private:
  static constexpr std::array<std::string_view, 13> kNames = {
      "lookup",  "getattr",     "readlink", "open",     "read",      "flush", "opendir",
      "readdir", "readdirplus", "statfs",   "getxattr", "listxattr", "forget"};

  std::array<std::atomic<std::uint64_t>, kNames.size()> counts_{};
};

// What a mount has counted since it began.
struct RequestStatistics {
  std::vector<std::pair<std::string_view, std::uint64_t>> by_kind;
  std::uint64_t errors = 0;          // requests that were answered with EIO
  std::uint64_t pushed_records = 0;  // into the kernel's cache
  std::uint64_t pushed_bytes = 0;
};

// The userdata of the session.
struct Mount {
  const MountTree& tree;
  Dispatcher& dispatcher;
  ReadAheadPusher& pusher;
  const unsigned max_read;             // mount option; INIT repeats it
  const bool has_extended_attributes;  // false: ENOSYS, once
  // false: OPENDIR may return ENOSYS. The kernel then opens directories without a request, even of a dead mount, which
  // fusermount3 could not detect (auto_unmount).
  const bool wants_opendir;
  const std::function<void()> init_answered;  // called once, on the thread that sent the reply to INIT
  RequestCounts requests{};
  std::atomic<bool> awaits_init_reply{true};
  bool has_parallel_directories = false;  // offered by the kernel; set by INIT
};

// Returns the handlers, for fuse_session_new().
const fuse_lowlevel_ops& operations();

}  // namespace recordfs
