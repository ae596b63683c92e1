// The log of a mount.
#pragma once

#include <atomic>
#include <string>

#include "core/store/log.h"
#include "fusefs/options.h"

namespace recordfs {

// Lines go to stderr until the process has gone to the background, then to the system's log. Any thread.
class DaemonLog {
 public:
  // `redact`: what comes from a file stays out. In a line it is what stands in double quotes.
  DaemonLog(Verbosity verbosity, bool redact) : least_(least_of(verbosity)), redact_(redact) {}

  void use_syslog();

  // A line, if the verbosity lets it through.
  void write(Severity severity, const std::string& line) const;
  // A line that somebody has asked for.
  void answer(const std::string& line) const;

 private:
  static Severity least_of(Verbosity verbosity);
  void put(int priority, const std::string& line) const;

  const Severity least_;
  const bool redact_;
  std::atomic<bool> to_syslog_{false};
};

}  // namespace recordfs
