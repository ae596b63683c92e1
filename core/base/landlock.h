// Rules that a process puts on itself about files, TCP and other processes: landlock(7).
#pragma once

#include <linux/landlock.h>

#include <cstdint>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs::landlock {

// Rights to files. Older headers lack some: see landlock(7), "VERSIONS".
inline constexpr std::uint64_t kExecute = LANDLOCK_ACCESS_FS_EXECUTE;
inline constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
inline constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
inline constexpr std::uint64_t kReadDirectory = LANDLOCK_ACCESS_FS_READ_DIR;
inline constexpr std::uint64_t kMakeFile = LANDLOCK_ACCESS_FS_MAKE_REG;
inline constexpr std::uint64_t kMakeDirectory = LANDLOCK_ACCESS_FS_MAKE_DIR;
inline constexpr std::uint64_t kRemoveFile = LANDLOCK_ACCESS_FS_REMOVE_FILE;
inline constexpr std::uint64_t kRemoveDirectory = LANDLOCK_ACCESS_FS_REMOVE_DIR;
inline constexpr std::uint64_t kTruncate = 1ull << 14;
inline constexpr std::uint64_t kDeviceControl = 1ull << 15;

// From this version on there is kTruncate.
inline constexpr long kVersionWithTruncate = 3;

// Returns the kernel's version of Landlock; less than 1 if it has none. Thread-safe.
long version();

// Not thread-safe.
class Rules {
 public:
  // Makes rules by which all rights that the version knows are missing, except those in `free`; so are TCP connections,
  // and signals and abstract sockets of other processes. Fails with kIo. REQUIRES: version >= 1.
  static Result<Rules> deny(std::uint64_t free, long version);

  // Permits `rights` to a file, or to a directory and everything below it; to a file only those that files have.
  // Permits nothing if `there` is empty. Returns false, with errno, if the kernel rejects that.
  bool allow(const Descriptor& there, std::uint64_t rights) const;
  // Applies the rules to the calling thread, and to those that it starts later. Returns false, with errno, on failure.
  bool begin() const;

 private:
  Rules(Descriptor descriptor, std::uint64_t known) : descriptor_(std::move(descriptor)), known_(known) {}

  Descriptor descriptor_;
  std::uint64_t known_;  // rights that the rules are about
};

}  // namespace recordfs::landlock
