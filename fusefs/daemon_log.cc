#include "fusefs/daemon_log.h"

#include <syslog.h>

#include "core/base/utf8.h"
#include "fusefs/say.h"

namespace recordfs {
namespace {

int priority_of(Severity severity) {
  switch (severity) {
    case Severity::kDetail:
    case Severity::kInfo: return LOG_INFO;
    case Severity::kWarning: return LOG_WARNING;
    case Severity::kError: break;
  }
  return LOG_ERR;
}

// From the first quote to the last: there may be some in what is quoted.
std::string without_quoted(std::string line) {
  const std::size_t first = line.find('"');
  const std::size_t last = line.rfind('"');
  if (first != last) line.replace(first, last - first + 1, "\"...\"");
  return line;
}

}  // namespace

Severity DaemonLog::least_of(Verbosity verbosity) {
  switch (verbosity) {
    case Verbosity::kErrors: return Severity::kError;
    case Verbosity::kUsual: return Severity::kInfo;
    case Verbosity::kDetails: break;
  }
  return Severity::kDetail;
}

void DaemonLog::use_syslog() {
  ::openlog("recordfs", LOG_PID | LOG_NDELAY, LOG_DAEMON);
  to_syslog_ = true;
}

void DaemonLog::write(Severity severity, const std::string& line) const {
  if (severity >= least_) put(priority_of(severity), redact_ ? without_quoted(line) : line);
}

void DaemonLog::answer(const std::string& line) const { put(LOG_NOTICE, line); }

void DaemonLog::put(int priority, const std::string& line) const {
  if (!to_syslog_) return say(line);
  ::syslog(priority, "%s", printable(line).c_str());
}

}  // namespace recordfs
