#include "fusefs/glue/mount_table.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

#include "core/base/parse_number.h"

namespace recordfs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "recordfs-mount";
constexpr std::string_view kMarkLink = "/memfd:recordfs-mount (deleted)";
constexpr std::string_view kInName = "reco";  // also of "mount.fuse.recordfs", cut to 15 bytes
constexpr std::string_view kGuard = "recordfs-guard";

// Decodes the escapes of /proc: "\\040" for a space.
std::string unescaped(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size()) {
      text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

// Calls `take` for each mount of the namespace.
void each_mount(
    const std::function<void(const std::string& source, const std::string& point, const std::string& type)>& take) {
  std::ifstream table("/proc/self/mounts");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string source;
    std::string point;
    std::string type;
    if (fields >> source >> point >> type) take(unescaped(source), unescaped(point), type);
  }
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the path in a mark; empty if the descriptor is not a mark, or cannot be read.
std::string marked_by(const fs::path& descriptor) {
  std::error_code failed;
  if (fs::read_symlink(descriptor, failed) != kMarkLink || failed) return {};
  std::ifstream file(descriptor, std::ios::binary);
  std::string path;
  std::getline(file, path, '\0');
  return path;
}

// Returns the mount point that a process serves; empty if it serves none.
std::string served_by(const fs::path& process) {
  const std::string name = first_line(process / "comm");
  if (name.find(kInName) == std::string::npos || name == kGuard) return {};
  std::error_code failed;
  for (fs::directory_iterator entry(process / "fd", failed), end; !failed && entry != end; entry.increment(failed)) {
    if (auto path = marked_by(entry->path()); !path.empty()) return path;
  }
  return {};
}

// Returns a number in /proc/PID/stat: the one after so many fields that follow the name.
std::optional<std::uint64_t> number_in_stat(pid_t pid, int fields_before) {
  const std::string stat = first_line(fs::path("/proc") / std::to_string(pid) / "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < fields_before; ++i) fields >> skipped;
  std::uint64_t number = 0;
  if (!(fields >> number)) return std::nullopt;
  return number;
}

// Returns the daemons by mount point. A daemon's children have its descriptors.
std::map<std::string, pid_t> daemons() {
  constexpr int kBeforeParent = 1;
  std::multimap<std::string, pid_t> found;
  std::error_code failed;
  for (fs::directory_iterator entry("/proc", failed), end; !failed && entry != end; entry.increment(failed)) {
    const auto pid = parse_number<pid_t>(entry->path().filename().native());
    if (!pid) continue;
    if (auto path = served_by(entry->path()); !path.empty()) found.emplace(std::move(path), *pid);
  }
  std::map<std::string, pid_t> daemons;
  for (const auto& [path, one] : found) {
    const auto parent = number_in_stat(one, kBeforeParent);
    const auto [begin, end] = found.equal_range(path);
    const bool is_child = std::any_of(
        begin, end, [&parent](const auto& other) { return parent == static_cast<std::uint64_t>(other.second); });
    if (!is_child) daemons.insert_or_assign(path, one);
  }
  return daemons;
}

// Returns how long a process has run.
std::optional<std::uint64_t> seconds_of(pid_t pid) {
  constexpr int kBeforeStart = 19;  // fields between the name and the start
  const auto ticks = number_in_stat(pid, kBeforeStart);
  double now = 0;
  std::istringstream uptime(first_line("/proc/uptime"));
  if (!ticks || !(uptime >> now)) return std::nullopt;
  const double age = now - static_cast<double>(*ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return age < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(age);
}

}  // namespace

std::vector<ListedMount> list_mounts() {
  std::vector<ListedMount> mounts;
  each_mount([&](const std::string& source, const std::string& point, const std::string& type) {
    if (type == kMountType) mounts.push_back({.source = source, .mountpoint = point});
  });
  if (mounts.empty()) return mounts;
  const auto serving = daemons();
  for (ListedMount& mount : mounts) {
    const auto daemon = serving.find(mount.mountpoint);
    if (daemon == serving.end()) continue;
    mount.pid = daemon->second;
    mount.seconds = seconds_of(daemon->second);
  }
  return mounts;
}

Descriptor mark_daemon(const std::string& mountpoint) {
  Descriptor mark(::memfd_create(kMark, MFD_CLOEXEC));
  const std::size_t size = mountpoint.size() + 1;
  if (mark && ::write(mark.number(), mountpoint.c_str(), size) != static_cast<ssize_t>(size)) return {};
  return mark;
}

std::string type_of_mount(const std::string& mountpoint) {
  std::string found;
  each_mount([&](const std::string&, const std::string& point, const std::string& type) {
    if (point == mountpoint) found = type;
  });
  return found;
}

bool wait_for_end(pid_t pid, int seconds) {
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return errno == ESRCH;
  constexpr int kMilliseconds = 1000;
  pollfd ended{.fd = process.number(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, seconds * kMilliseconds) > 0;
}

}  // namespace recordfs
