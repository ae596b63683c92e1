#include "fusefs/daemon_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "fusefs/messages.h"

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

std::string_view name_of(int priority) {
  switch (priority) {
    case LOG_ERR: return "error";
    case LOG_WARNING: return "warning";
    case LOG_NOTICE: return "notice";
    default: return "info";
  }
}

// Returns local time with UTC offset: "2026-01-31T12:00:00.000+0100".
std::string time_stamp() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> date{};
  std::array<char, 16> offset{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &local);
  std::strftime(offset.data(), offset.size(), "%z", &local);
  return fmt::format("{}.{:03}{}", date.data(), milliseconds, offset.data());
}

// A single write(), so that appended lines of several programs do not mix.
void append(const Descriptor& file, const std::string& line) {
  while (::write(file.number(), line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

// Replaces from the first quote to the last, because the quoted text may contain quotes.
std::string without_quoted(std::string line) {
  const std::size_t first = line.find('"');
  const std::size_t last = line.rfind('"');
  if (first != last) line.replace(first, last - first + 1, "\"...\"");
  return line;
}

Severity least_of(Verbosity verbosity) {
  switch (verbosity) {
    case Verbosity::kErrors: return Severity::kError;
    case Verbosity::kUsual: return Severity::kInfo;
    case Verbosity::kDetails: break;
  }
  return Severity::kDetail;
}

}  // namespace

Result<Descriptor> open_log_file(const std::string& path) {
  // O_NONBLOCK: opening a fifo must not wait for its reader. O_NOFOLLOW: in a directory of another user, that user
  // would choose the file. Links in /dev, such as /dev/stderr, are root's.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const int follows = path.starts_with("/dev/") ? 0 : O_NOFOLLOW;
  Descriptor file(::open(path.c_str(), kFlags | follows, S_IRUSR | S_IWUSR));
  if (!file && errno == ELOOP) return Error{.code = Code::kIo, .detail = "a symbolic link"};
  if (!file) return system_error(errno);
  struct stat st {};
  if (::fstat(file.number(), &st) != 0) return system_error(errno);
  if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)) return Error{.code = Code::kIo, .detail = "not a regular file"};
  if (S_ISREG(st.st_mode) && st.st_uid != ::geteuid() && st.st_uid != 0) {
    return Error{.code = Code::kIo, .detail = "the file belongs to another user"};
  }
  if (S_ISREG(st.st_mode) && st.st_nlink > 1) return Error{.code = Code::kIo, .detail = "the file has several names"};
  return file;
}

DaemonLog::DaemonLog(Verbosity verbosity, bool redact) : least_(least_of(verbosity)), redact_(redact) {}

Result<void> DaemonLog::open_file(const std::string& path) {
  ASSIGN_OR_RETURN(file_, open_log_file(path));
  return {};
}

// The number stays, so that no line of another thread is lost.
void DaemonLog::replace_file(const Descriptor& file) const { ::dup3(file.number(), file_.number(), O_CLOEXEC); }

void DaemonLog::connect(bool is_in_background) {
  if (file_ || !is_in_background) return;
  ::openlog("recordfs", LOG_PID | LOG_NDELAY, LOG_DAEMON);
  is_connected_ = true;
}

void DaemonLog::begin() {
  const std::lock_guard lock(mutex_);
  if (file_) target_ = Target::kFile;
  if (is_connected_) target_ = Target::kSystemLog;
  for (const auto& [priority, line] : early_) put_in_log(priority, line);
  early_.clear();
}

void DaemonLog::write(Severity severity, const std::string& line) const {
  if (severity >= least_) put(priority_of(severity), redact_ ? without_quoted(line) : line);
}

void DaemonLog::note(const std::string& line) const {
  const bool is_seen = target_ == Target::kStderr && ::getenv("JOURNAL_STREAM") == nullptr;  // by a user
  write(is_seen ? Severity::kDetail : Severity::kInfo, line);
}

void DaemonLog::answer(const std::string& line) const { put(LOG_NOTICE, line); }

void DaemonLog::put(int priority, const std::string& line) const {
  if (target_ != Target::kStderr) return put_in_log(priority, line);
  print_message(line);
  constexpr std::size_t kMostEarly = 1000;
  const std::lock_guard lock(mutex_);
  if (!file_ && !is_connected_) return;
  if (early_.size() == kMostEarly) early_.pop_front();
  early_.emplace_back(priority, line);
}

void DaemonLog::put_in_log(int priority, const std::string& line) const {
  if (target_ == Target::kSystemLog) return ::syslog(priority, "%s", printable(line).c_str());
  append(file_, fmt::format("{} recordfs[{}]: {}: {}\n", time_stamp(), ::getpid(), name_of(priority), printable(line)));
}

}  // namespace recordfs
