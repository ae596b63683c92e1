// CopySums: by what a later copy finds which bytes of an unfinished one are on the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/hash/xxhash.h"

namespace recordfs {

// A file with the XXH3 of each MiB of a copy, 8 bytes each. A power failure can leave zeros in place of bytes that were
// written, in both files: such bytes have another sum. Not thread-safe.
class CopySums {
 public:
  static constexpr std::uint64_t kPiece = 1u << 20;  // bytes that have one sum

  // Takes a file that can be read and written, for example an empty one.
  explicit CopySums(Descriptor file) : file_(std::move(file)) {}

  // Returns how many of the first bytes of a copy have their sums, which are whole MiB, and at most `end`. Reads them
  // into `buffer`, which must not be empty, and calls `progress` with the bytes of each. Ends where one cannot be read.
  std::uint64_t intact(int copy, std::uint64_t end, MutableBytes buffer,
                       const std::function<void(std::uint64_t bytes)>& progress) const;
  // Forgets the sums of all bytes from `begin` on, which append() continues. Returns 0, or errno. REQUIRES: whole MiB.
  int begin_at(std::uint64_t begin);
  // Adds the sums of the next bytes of the copy. Returns 0, or errno.
  int append(Bytes bytes);

 private:
  const Descriptor file_;
  std::optional<XxHasher> piece_;  // that is not complete
  std::uint64_t at_ = 0;
};

}  // namespace recordfs
