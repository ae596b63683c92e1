#include "fusefs/glue/mount_table.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "core/base/parse_number.h"
#include "core/dataset/real_paths.h"

namespace recordfs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "recordfs-mount";
constexpr std::string_view kMarkLink = "/memfd:recordfs-mount (deleted)";
constexpr std::string_view kInName = "reco";  // also of "mount.fuse.recordfs", cut to 15 bytes
constexpr std::string_view kGuard = "recordfs-guard";
constexpr std::size_t kLongestMark = PATH_MAX + 1;  // bytes
constexpr int kMostDescriptors = 1024;              // of a process that are examined; a mark is among the first

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

struct TableEntry {
  std::string source;
  std::string point;
  std::string type;
  std::string options;
};

// Calls `take` for each mount of the namespace.
void each_mount(const std::function<void(const TableEntry&)>& take) {
  std::ifstream table("/proc/self/mounts");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    TableEntry entry;
    if (!(fields >> entry.source >> entry.point >> entry.type >> entry.options)) continue;
    for (std::string* field : {&entry.source, &entry.point, &entry.type}) *field = unescaped(*field);
    take(entry);
  }
}

// Returns the user that mounted: the kernel's option user_id of every FUSE mount. 0 if there is none.
uid_t owner_in(std::string_view options) {
  constexpr std::string_view kName = "user_id=";
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(option.size() + 1, options.size()));
    if (option.starts_with(kName)) return parse_number<uid_t>(option.substr(kName.size())).value_or(0);
  }
  return 0;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the user of a process; nullopt if it has several, or has ended. The owner of /proc/PID is no proof: it is
// root for each process that only root may examine.
std::optional<uid_t> user_of(const fs::path& process) {
  std::ifstream file(process / "status");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    uid_t real = 0;
    uid_t effective = 0;
    uid_t saved = 0;
    if (!(fields >> name) || name != "Uid:") continue;
    const bool is_one = fields >> real >> effective >> saved && real == effective && effective == saved;
    return is_one ? std::optional(real) : std::nullopt;
  }
  return std::nullopt;
}

// Returns the kernel's device of all memory files.
std::optional<dev_t> device_of_memory() {
  const Descriptor own(::memfd_create("recordfs", MFD_CLOEXEC));
  struct stat st {};
  if (!own || ::fstat(own.number(), &st) != 0) return std::nullopt;
  return st.st_dev;
}

// Returns the path in a mark; empty if the descriptor is not a mark, or cannot be read. A descriptor of another process
// may be of any file: a FIFO, or one in a filesystem that hangs. So its filesystem is asked nothing before the file is
// known to be a memory file.
std::string marked_by(const fs::path& descriptor, dev_t memory) {
  std::error_code failed;
  if (fs::read_symlink(descriptor, failed) != kMarkLink || failed) return {};
  const Descriptor named(::open(descriptor.c_str(), O_PATH | O_CLOEXEC));
  struct statx st {};
  if (!named || ::statx(named.number(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &st) != 0)
    return {};
  const bool is_in_memory = makedev(st.stx_dev_major, st.stx_dev_minor) == memory;
  if (!is_in_memory || !S_ISREG(st.stx_mode) || st.stx_size > kLongestMark) return {};
  const std::string same = "/proc/self/fd/" + std::to_string(named.number());  // the process may change its descriptor
  const Descriptor file(::open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::string path(kLongestMark, '\0');
  const ssize_t got = file ? ::pread(file.number(), path.data(), path.size(), 0) : -1;
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return path.substr(0, path.find('\0'));
}

// Returns the mount point that a process serves; empty if it serves none.
std::string served_by(const fs::path& process, dev_t memory) {
  const std::string name = first_line(process / "comm");
  if (name.find(kInName) == std::string::npos || name == kGuard) return {};
  std::error_code failed;
  fs::directory_iterator entry(process / "fd", failed);
  for (int i = 0; i < kMostDescriptors && !failed && entry != fs::directory_iterator(); ++i, entry.increment(failed)) {
    if (auto path = marked_by(entry->path(), memory); !path.empty()) return path;
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

struct Daemon {
  pid_t pid = 0;
  uid_t user = 0;
};

using Daemons = std::multimap<std::string, Daemon>;

// Returns the processes of these users that have a mark, by mount point.
Daemons marked_processes(const std::set<uid_t>& users) {
  Daemons found;
  const auto memory = device_of_memory();
  if (!memory) return found;
  std::error_code failed;
  for (fs::directory_iterator entry("/proc", failed), end; !failed && entry != end; entry.increment(failed)) {
    const auto pid = parse_number<pid_t>(entry->path().filename().native());
    const auto user = pid ? user_of(entry->path()) : std::nullopt;
    if (!user || !users.contains(*user)) continue;
    auto path = served_by(entry->path(), *memory);
    if (!path.empty() && user_of(entry->path()) == user) found.emplace(std::move(path), Daemon{*pid, *user});
  }
  return found;
}

// Returns the daemons by mount point. A daemon's children have its descriptors.
Daemons daemons(const std::set<uid_t>& users) {
  constexpr int kBeforeParent = 1;
  const Daemons found = marked_processes(users);
  Daemons daemons;
  for (const auto& [path, one] : found) {
    const auto parent = number_in_stat(one.pid, kBeforeParent);
    const auto [begin, end] = found.equal_range(path);
    const bool is_child = std::any_of(
        begin, end, [&parent](const auto& other) { return parent == static_cast<std::uint64_t>(other.second.pid); });
    if (!is_child) daemons.emplace(path, one);
  }
  return daemons;
}

// Returns the daemon of a mount: the last one of its user. Another user's process could mark itself for any mount. Root
// may serve a mount of any user.
std::optional<pid_t> daemon_of(const ListedMount& mount, const Daemons& daemons) {
  std::optional<pid_t> last;
  const auto [begin, end] = daemons.equal_range(mount.mountpoint);
  for (auto daemon = begin; daemon != end; ++daemon) {
    if (daemon->second.user == mount.owner || daemon->second.user == 0) last = daemon->second.pid;
  }
  return last;
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

// Accesses no path that another user has chosen, which may be in a filesystem that hangs.
bool names_source(const std::string& word, const ListedMount& mount) {
  if (word == mount.source || word == fs::path(mount.source).filename()) return true;
  if (RealPaths().of(word) == mount.source) return true;
  if (mount.owner != 0 && mount.owner != ::geteuid()) return false;
  std::error_code failed;
  return fs::equivalent(word, mount.source, failed) && !failed;
}

}  // namespace

std::vector<ListedMount> list_mounts() {
  std::vector<ListedMount> mounts;
  each_mount([&](const TableEntry& entry) {
    if (entry.type != kMountType) return;
    mounts.push_back({.source = entry.source, .mountpoint = entry.point, .owner = owner_in(entry.options)});
  });
  if (mounts.empty()) return mounts;
  std::set<uid_t> users = {0};
  for (const ListedMount& mount : mounts) users.insert(mount.owner);
  const auto serving = daemons(users);
  for (ListedMount& mount : mounts) {
    mount.pid = daemon_of(mount, serving);
    if (mount.pid) mount.seconds = seconds_of(*mount.pid);
  }
  return mounts;
}

std::string path_without_access(const std::string& word) {
  const fs::path name = fs::path(word).lexically_normal();
  const fs::path plain = name.has_filename() ? name : name.parent_path();
  std::error_code failed;
  const fs::path above = fs::canonical(plain.has_parent_path() ? plain.parent_path() : fs::path("."), failed);
  return failed ? plain.string() : (above / plain.filename()).string();
}

std::vector<ListedMount> mounts_meant_by(const std::string& word) {
  const auto mounts = list_mounts();
  const std::string path = path_without_access(word);
  const auto top = std::find_if(mounts.rbegin(), mounts.rend(), [&](const ListedMount& mount) {
    return mount.mountpoint == path || mount.mountpoint == word;
  });
  if (top != mounts.rend()) return {*top};
  std::vector<ListedMount> meant;
  std::ranges::copy_if(mounts, std::back_inserter(meant),
                       [&word](const ListedMount& mount) { return names_source(word, mount); });
  return meant;
}

Descriptor new_mark() { return Descriptor(::memfd_create(kMark, MFD_CLOEXEC)); }

void mark_daemon(const Descriptor& mark, const std::string& mountpoint) {
  if (mark) static_cast<void>(!::write(mark.number(), mountpoint.c_str(), mountpoint.size() + 1));
}

std::string type_of_mount(const std::string& mountpoint) {
  std::string found;
  each_mount([&](const TableEntry& entry) {
    if (entry.point == mountpoint) found = entry.type;
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
