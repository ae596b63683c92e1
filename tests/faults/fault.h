// Injects the faults of disks, of network filesystems, and of programs that write to a file while it is mounted.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tests/faults/pread_hook.h"

namespace recordfs::faults {

enum class Kind : std::uint8_t {
  kEio,             // the read fails with EIO
  kEioFromThen,     // this read and all later ones fail with EIO, until the fault ends
  kBadSector,       // the first byte that the read requests is unreadable, until the fault ends
  kInterrupted,     // the read fails with EINTR
  kAllInterrupted,  // this read and all later ones fail with EINTR, until the fault ends
  kShort,           // the read returns one byte
  kAllShort,   // this read and all later ones return a sixteenth of what they request, or seven bytes if that is more
  kTruncated,  // the file is truncated
  kRewritten,  // the file is overwritten with as many other bytes
  kReplaced,   // another file is renamed over it
  kGrown,      // bytes are appended
};
inline constexpr Kind kKinds[] = {
    Kind::kEio,      Kind::kEioFromThen, Kind::kBadSector, Kind::kInterrupted, Kind::kAllInterrupted, Kind::kShort,
    Kind::kAllShort, Kind::kTruncated,   Kind::kRewritten, Kind::kReplaced,    Kind::kGrown};

std::string_view to_string(Kind kind);

// Returns whether readers must not notice the fault.
constexpr bool is_hidden(Kind kind) {
  return kind == Kind::kInterrupted || kind == Kind::kShort || kind == Kind::kAllShort || kind == Kind::kReplaced ||
         kind == Kind::kGrown;
}
// Returns whether the fault changes the file instead of a read.
constexpr bool is_change(Kind kind) { return kind >= Kind::kTruncated; }
// Returns whether the open file stays changed after the fault.
constexpr bool is_permanent(Kind kind) { return kind == Kind::kTruncated || kind == Kind::kRewritten; }
// Returns the error of a read that meets the fault. REQUIRES: !is_hidden(kind).
constexpr Code code_of(Kind kind) { return is_permanent(kind) ? Code::kChanged : Code::kIo; }
constexpr int os_error_of(Kind kind) {
  if (is_permanent(kind)) return 0;
  return kind == Kind::kAllInterrupted ? EINTR : EIO;
}

// A file whose n-th read, counted from 0 over all threads, meets a fault. Whenever a fault is injected, the file has
// the same path and an old modification time.
class FaultyFile {
 public:
  FaultyFile(std::filesystem::path path, std::string bytes);

  // Restores the original bytes. Does nothing if the file is unchanged.
  void restore();
  // Injects a fault until clear(). REQUIRES: the file is unchanged since restore().
  void inject(Kind kind, std::uint64_t read);
  // Stops faulting reads, but does not restore the file.
  void clear() { hook_.reset(); }
  // Return the number of reads since inject(), and whether the fault has occurred.
  std::uint64_t reads() const { return PreadHook::reads(); }
  bool has_happened() const { return *happened_; }

 private:
  std::optional<ssize_t> meet(Kind kind, std::uint64_t read, Read& now);
  void change(Kind kind, std::uint64_t read);

  const std::filesystem::path path_;
  const std::string bytes_;
  std::shared_ptr<std::atomic<bool>> happened_;
  bool is_whole_ = false;
  off_t bad_ = 0;  // written by the read that the fault hits, before happened_
  std::unique_ptr<PreadHook> hook_;
};

}  // namespace recordfs::faults
