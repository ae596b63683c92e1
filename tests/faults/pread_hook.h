// Stands between the program and the pread() of the C library, so that a test decides what each read of a file meets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include <sys/types.h>

namespace recordfs::faults {

// One call of pread().
struct Read {
  std::uint64_t number = 0;  // of the calls since the hook was set, from 0 on
  off_t at = 0;              // of the file
  std::size_t size = 0;      // bytes
};

// What pread() does instead: its result, with errno set where that is -1; nullopt: what it does otherwise, for
// `Read::size` bytes, which the hook may have made fewer.
using OnRead = std::function<std::optional<ssize_t>(Read& read)>;

// While it lives, all calls of pread() in the process come by here, from any thread. One at a time; calls that are
// under way when it goes are waited for.
class PreadHook {
 public:
  explicit PreadHook(OnRead on_read);
  ~PreadHook();
  PreadHook(const PreadHook&) = delete;
  PreadHook& operator=(const PreadHook&) = delete;

  // How many calls there were since then.
  static std::uint64_t reads();
};

}  // namespace recordfs::faults
