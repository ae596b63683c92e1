// The log of a mount daemon.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/store/log.h"
#include "fusefs/options.h"

namespace recordfs {

// Opens a log file to append to, creating it for its owner only. Fails with kIo, also for a symbolic link outside /dev,
// and for a file that belongs to another user or has several names. Thread-safe.
Result<Descriptor> open_log_file(const std::string& path);

// Writes to stderr until begin(), and then to a file, the system log, or still stderr. Thread-safe unless noted.
class DaemonLog {
 public:
  // `redact`: replaces double-quoted text, which comes from a file.
  DaemonLog(Verbosity verbosity, bool redact);

  // Opens a file for begin(), as open_log_file(). Not thread-safe.
  Result<void> open_file(const std::string& path);
  // Goes on in another file, which open_log_file() has opened. REQUIRES: open_file() has succeeded.
  void replace_file(const Descriptor& file) const;

  // Without a file and `is_in_background`, connects to the system log for begin(). Not thread-safe.
  void connect(bool is_in_background);

  // Switches to the opened file or the connected system log, which gets the last lines before this too. Call it once.
  void begin();

  // Writes a line if the verbosity permits.
  void write(Severity severity, const std::string& line) const;
  // Writes a line about the beginning and the end of the mount: to a file, the system log or the journal if the
  // verbosity permits, and to another stderr, where a user sees them anyway, only with kDetails.
  void note(const std::string& line) const;
  // Writes a line that the user requested.
  void answer(const std::string& line) const;

 private:
  enum class Target : std::uint8_t { kStderr, kSystemLog, kFile };

  void put(int priority, const std::string& line) const;
  void put_in_log(int priority, const std::string& line) const;

  const Severity least_;
  const bool redact_;
  Descriptor file_;
  bool is_connected_ = false;  // to the system log
  std::atomic<Target> target_{Target::kStderr};
  mutable std::mutex mutex_;
  mutable std::deque<std::pair<int, std::string>> early_;  // guarded by mutex_: priorities and lines before begin()
};

}  // namespace recordfs
