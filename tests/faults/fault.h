// The faults of a disk, of a network file system, and of programs that write to a file that is open here.
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
  kEioFromThen,     // the read and all behind it, until the fault is over
  kBadSector,       // the first byte of what the read asks for can't be read any more, until the fault is over
  kInterrupted,     // the read fails with EINTR
  kAllInterrupted,  // the read and all behind it, until the fault is over
  kShort,           // the read gives one byte
  kAllShort,        // each read from then on gives seven bytes or fewer
  kTruncated,       // the file is cut off
  kRewritten,       // other bytes, as many, are written into the file
  kReplaced,        // another file is renamed over it
  kGrown,           // something is appended
};
inline constexpr Kind kKinds[] = {
    Kind::kEio,      Kind::kEioFromThen, Kind::kBadSector, Kind::kInterrupted, Kind::kAllInterrupted, Kind::kShort,
    Kind::kAllShort, Kind::kTruncated,   Kind::kRewritten, Kind::kReplaced,    Kind::kGrown};

std::string_view to_string(Kind kind);

// Whether whoever reads the file notices nothing.
constexpr bool is_hidden(Kind kind) {
  return kind == Kind::kInterrupted || kind == Kind::kShort || kind == Kind::kAllShort || kind == Kind::kReplaced ||
         kind == Kind::kGrown;
}
// Whether something is done to the file, and not to a read of it.
constexpr bool is_change(Kind kind) { return kind >= Kind::kTruncated; }
// Whether the file is another one afterwards than the one that was opened.
constexpr bool is_for_good(Kind kind) { return kind == Kind::kTruncated || kind == Kind::kRewritten; }
// What a read that it hits fails with. REQUIRES: !is_hidden(kind).
constexpr Code code_of(Kind kind) { return is_for_good(kind) ? Code::kChanged : Code::kIo; }
constexpr int os_error_of(Kind kind) {
  if (is_for_good(kind)) return 0;
  return kind == Kind::kAllInterrupted ? EINTR : EIO;
}

// A file that meets with a fault at its n-th read, counted over all threads from 0 on. The file's path is the same and
// its time stamp old whenever a fault is injected.
class FaultyFile {
 public:
  FaultyFile(std::filesystem::path path, std::string bytes);

  // The file with its bytes, whatever became of it before; nothing where it is as it was.
  void restore();
  // From now on until clear(). The file has to be as restore() leaves it.
  void inject(Kind kind, std::uint64_t read);
  // Reads are as they are without a fault; what has become of the file stays.
  void clear() { hook_.reset(); }
  // How many reads there were since inject(), and whether the fault came to pass.
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
