// FileSnapshot: the bytes that an open file had at one time, and what has become of them since.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/file_state.h"
#include "core/base/result.h"

struct stat;

namespace recordfs {

// A regular file or block device. All functions block whatever the RequestContext. Thread-safe after begin().
class FileSnapshot {
 public:
  // `size` and `now` are those of the open file. `is_followed`: appending alone does not increase generation().
  FileSnapshot(Descriptor descriptor, std::uint64_t size, const struct stat& now, bool is_followed);
  FileSnapshot(const FileSnapshot&) = delete;
  FileSnapshot& operator=(const FileSnapshot&) = delete;

  // Reads both ends of the file. `clock`: a time before its state was read. Fails as read(), and with kOutOfMemory.
  // REQUIRES: called once, before the file is read or compared.
  Result<void> begin(std::chrono::system_clock::time_point clock);

  int descriptor() const { return descriptor_.number(); }
  std::uint64_t size() const { return size_; }
  const FileState& state() const { return state_; }
  bool is_followed() const { return is_followed_; }

  // Fills `out` with the bytes from `at` on, which are in the snapshot. Returns their number. Fails with kIo, and with
  // kChanged if the file is shorter.
  Result<std::size_t> read(Position at, MutableBytes out) const;
  // Compares the ends of the snapshot with the file if its state changed. Fails with kChanged if they differ or if the
  // file is shorter, with kIo, and with kOutOfMemory.
  Result<void> check_unchanged() const;
  // Returns the size of the file now. Fails with kIo.
  Result<std::uint64_t> present_size() const;
  // Returns the position of the last byte known not to be zero; size() if there is none. No hole ends after it.
  Position last_known_data() const;

  // As those of Source.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  bool has_grown() const { return grown_.load(std::memory_order_relaxed); }
  bool is_removed() const { return removed_.load(std::memory_order_relaxed); }

  // Returns the number of bytes that the process has read from all files.
  static std::uint64_t bytes_read() { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  struct Stamp {
    FileState state;
    std::uint64_t links = 1;  // names of the file
    bool operator==(const Stamp& other) const { return state.is_unchanged(other.state) && links == other.links; }
  };
  struct Ends {
    Buffer first, last;
  };

  Result<void> read_end(Position at, Buffer& out) const;
  Result<Ends> read_ends() const;
  Result<bool> ends_are_same() const;
  Stamp stamp_of(const struct stat& st) const;
  Result<Stamp> stamp() const;

  static inline std::atomic<std::uint64_t> bytes_read_{0};

  const Descriptor descriptor_;
  const std::uint64_t size_;
  const FileState state_;
  const bool is_followed_;
  Ends ends_;
  mutable std::mutex mutex_;
  mutable Stamp seen_;                        // guarded by mutex_; last state of the file
  mutable bool is_settled_ = false;           // guarded by mutex_; any later change gives another stamp
  mutable std::atomic<bool> changed_{false};  // never reset
  mutable std::atomic<std::uint64_t> generation_{0};
  mutable std::atomic<bool> grown_{false};
  mutable std::atomic<bool> removed_{false};
};

// Returns the error of a system call.
Error file_error(Position at, std::string_view action, int error);

}  // namespace recordfs
