// Replaces the C library's pread(), so that a test controls the result of each read of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include <sys/types.h>

namespace recordfs::faults {

// One call of pread().
struct Read {
  std::uint64_t number = 0;  // of the call since the hook was set, from 0
  off_t at = 0;              // offset in the file
  std::size_t size = 0;      // bytes
};

// Returns the result of pread(), with errno set if it is -1. Returns nullopt to call the real pread() for `Read::size`
// bytes, which the hook may have reduced.
using OnRead = std::function<std::optional<ssize_t>(Read& read)>;

// Scoped: intercepts all pread() calls of all threads. At most one may exist at a time. The destructor waits for
// running calls.
class PreadHook {
 public:
  explicit PreadHook(OnRead on_read);
  ~PreadHook();
  PreadHook(const PreadHook&) = delete;
  PreadHook& operator=(const PreadHook&) = delete;

  // Returns the number of calls since the hook was set.
  static std::uint64_t reads();
};

}  // namespace recordfs::faults
