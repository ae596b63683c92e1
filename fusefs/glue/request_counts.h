// How many requests of each kind the kernel has sent.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

// Any thread.
class RequestCounts {
 public:
  void add(RequestKind kind) { counts_[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed); }

  // All but FORGET, which the kernel sends when it is short of memory and not because somebody has asked.
  std::uint64_t asked() const;

  // "lookup 3, getattr 1": the kinds of which there were any.
  std::string text() const;

 private:
  static constexpr std::array<std::string_view, 13> kNames = {
      "lookup",  "getattr",     "readlink", "open",     "read",      "flush", "opendir",
      "readdir", "readdirplus", "statfs",   "getxattr", "listxattr", "forget"};

  std::array<std::atomic<std::uint64_t>, kNames.size()> counts_{};
};

}  // namespace recordfs
