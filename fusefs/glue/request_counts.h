// Counts the kernel's requests by kind.
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

// Thread-safe.
class RequestCounts {
 public:
  void add(RequestKind kind) { counts_[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed); }

  // Returns the sum without FORGET, which the kernel sends when it needs memory.
  std::uint64_t asked() const;

  // Returns the kinds that occurred: "lookup 3, getattr 1", or "none".
  std::string text() const;

 private:
  static constexpr std::array<std::string_view, 13> kNames = {
      "lookup",  "getattr",     "readlink", "open",     "read",      "flush", "opendir",
      "readdir", "readdirplus", "statfs",   "getxattr", "listxattr", "forget"};

  std::array<std::atomic<std::uint64_t>, kNames.size()> counts_{};
};

}  // namespace recordfs
