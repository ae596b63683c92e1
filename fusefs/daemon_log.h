// The log of a mount.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/store/log.h"
#include "fusefs/options.h"

namespace recordfs {

// Lines go to stderr until the mount is in place, and then to a file, to the system's log, or still to stderr. Any
// thread, except where a function says otherwise.
class DaemonLog {
 public:
  // `redact`: leaves out what comes from a file, which is what a line has in double quotes.
  DaemonLog(Verbosity verbosity, bool redact) : least_(least_of(verbosity)), redact_(redact) {}

  // Opens a file for begin(). Creates it for its owner alone if there is none. Fails with kIo. One thread.
  Result<void> open_file(const std::string& path);
  // Whether a program listens at /dev/log.
  static bool has_system_log();

  // From now on lines go to the file that was opened, or otherwise to the system's log if the mount is in the
  // background. One thread, after the process has gone there.
  void begin(bool is_in_background);

  // Writes a line, if the verbosity lets it through.
  void write(Severity severity, const std::string& line) const;
  // Writes a line that the user has asked for.
  void answer(const std::string& line) const;

 private:
  enum class Target : std::uint8_t { kStderr, kSystemLog, kFile };

  static Severity least_of(Verbosity verbosity);
  void put(int priority, const std::string& line) const;

  const Severity least_;
  const bool redact_;
  Descriptor file_;
  std::atomic<Target> target_{Target::kStderr};
};

}  // namespace recordfs
