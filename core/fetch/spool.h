// Whole objects in unnamed files, for servers that send no ranges.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs::fetch {

// Not thread-safe.
class Spool {
 public:
  static constexpr std::uint64_t kMostBytes = 64u << 20;
  static constexpr std::uint64_t kMostInAll = 512u << 20;  // bytes of all spools of the process

  // Returns an empty spool for `size` bytes: a file without a name in a folder, or a file in memory if `folder` is
  // negative, takes none, or has no room. Fails with kIo, and with kLimit if the spools have too many bytes in all.
  // REQUIRES: size <= kMostBytes.
  static Result<std::shared_ptr<Spool>> create(int folder, std::uint64_t size);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  std::uint64_t size() const { return size_; }
  // Returns how many bytes were appended.
  std::uint64_t filled() const { return filled_; }
  // Appends bytes. Returns false if that fails, or if they are more than size() in all.
  bool append(Bytes bytes);
  // Fills `out` with the bytes from `at` on. Returns false if they are not there.
  bool read(std::uint64_t at, MutableBytes out) const;

 private:
  Spool(Descriptor file, std::uint64_t size);

  Descriptor file_;
  std::uint64_t size_;
  std::uint64_t filled_ = 0;
};

}  // namespace recordfs::fetch
