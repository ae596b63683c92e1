// The log of a mount daemon.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/store/log.h"
#include "fusefs/options.h"

namespace recordfs {

// Writes to stderr until begin(), and then to a file, the system log, or still stderr. Thread-safe unless noted.
class DaemonLog {
 public:
  // `redact`: replaces double-quoted text, which comes from a file.
  DaemonLog(Verbosity verbosity, bool redact);

  // Opens a file for begin(), creating it for its owner only. Fails with kIo. Not thread-safe.
  Result<void> open_file(const std::string& path);

  // Switches to the opened file, or without one to the system log if `is_in_background`. Call it on one thread, after
  // going to the background.
  void begin(bool is_in_background);

  // Writes a line if the verbosity permits.
  void write(Severity severity, const std::string& line) const;
  // Writes a line that the user requested.
  void answer(const std::string& line) const;

 private:
  enum class Target : std::uint8_t { kStderr, kSystemLog, kFile };

  void put(int priority, const std::string& line) const;

  const Severity least_;
  const bool redact_;
  Descriptor file_;
  std::atomic<Target> target_{Target::kStderr};
};

}  // namespace recordfs
