#include "fusefs/mount_command.h"

#include <sys/stat.h>
#include <syslog.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/store/record_store.h"
#include "fusefs/exit_status.h"
#include "fusefs/glue/follower.h"
#include "fusefs/glue/session.h"
#include "fusefs/growth/growing_file.h"
#include "fusefs/opening.h"
#include "fusefs/say.h"
#include "fusefs/tree/mount_tree.h"
#include "fusefs/tree/node.h"

namespace recordfs {
namespace {

// Lines go to stderr until the process has gone to the background, then to the system's log.
class LogOutput {
 public:
  void use_syslog() {
    ::openlog("recordfs", LOG_PID, LOG_DAEMON);
    to_syslog_ = true;
  }
  void write(Severity severity, const std::string& line) const {
    if (!to_syslog_) return say(line);
    const int priority = severity == Severity::kInfo      ? LOG_INFO
                         : severity == Severity::kWarning ? LOG_WARNING
                                                          : LOG_ERR;
    ::syslog(priority, "%s", printable(line).c_str());
  }

 private:
  std::atomic<bool> to_syslog_{false};
};

void override_ownership(Ownership& ownership, const Options& options) {
  if (options.uid) ownership.uid = *options.uid;
  if (options.gid) ownership.gid = *options.gid;
  if (!options.umask) return;
  ownership.file_mode = 0444 & ~*options.umask;
  ownership.directory_mode = 0555 & ~*options.umask;
}

bool is_directory(const std::string& path) {
  std::error_code failure;
  return std::filesystem::is_directory(path, failure);
}

// Its name in a mount of several sources: that of the directory itself, whatever it was called by.
std::string directory_name(const std::string& path) {
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  const std::string name = failure ? std::string() : real.filename().string();
  return name.empty() ? "root" : name;
}

Result<MountSource> open_source(const std::string& path, const Options& options, Services& services) {
  if (is_directory(path)) {
    auto directory = Beneath::open(path);
    if (!directory) return std::move(directory).error();
    return MountSource(MirroredDirectory{directory_name(path), std::move(*directory)});
  }
  auto opened = open_file(path, options.limits, services);
  if (!opened) return std::move(opened).error();
  Ownership ownership = ownership_of(opened->status);
  override_ownership(ownership, options);
  return MountSource(MountedContainer{std::move(opened->name), std::move(opened->store), ownership});
}

// The same for a file that is followed, and is kept in `followed`.
Result<MountSource> open_followed(const std::string& path, const Options& options, Services& services,
                                  std::vector<std::unique_ptr<GrowingFile>>& followed) {
  auto opened = GrowingFile::open(path, options.limits, services);
  if (!opened) return std::move(opened).error();
  const GrowingFile& file = **opened;
  Ownership ownership = ownership_of(file.status());
  override_ownership(ownership, options);
  followed.push_back(std::move(*opened));
  return MountSource(MountedContainer{file.name(), file.store(), ownership, true});
}

MirrorSettings mirror_settings(const Options& options, Services& services) {
  const auto open = [&options, &services](Descriptor file,
                                          const std::string& path) -> Result<std::shared_ptr<const RecordStore>> {
    auto opened = open_file(std::move(file), path, options.limits, services);
    if (opened) return std::move(opened->store);
    services.log(Severity::kWarning, open_failure(path, opened.error()));
    return std::move(opened).error();
  };
  return {.probe = is_container, .open = open, .adjust = [&options](Ownership& ownership) {
            override_ownership(ownership, options);
          }};
}

// Bits that a record's address may have. Among so many containers as a mirror may have there is room for each that is
// looked into, 65,536 of the largest at a time.
unsigned address_bits(const Options& options) {
  constexpr unsigned kInMirror = 44;
  const unsigned bits = Numbering::value_bits(options.sources.size());
  return std::ranges::any_of(options.sources, is_directory) ? std::min(bits, kInMirror) : bits;
}

// What mount.fuse3(8) gives instead of a directory when it has opened /dev/fuse and mounted by itself.
bool is_open_device(const std::string& path) { return path.starts_with("/dev/fd/"); }

// The daemon leaves the directory in which it was started, and unmounts by the path that it was given.
std::string absolute(const std::string& path) {
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  return is_open_device(path) || failure ? path : real.string();
}

// What keeps `path` from being a mount point, or nothing.
std::optional<std::string> mountpoint_problem(const std::string& path, bool nonempty) {
  if (is_open_device(path)) return std::nullopt;
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return std::strerror(errno);
  if (!S_ISDIR(st.st_mode)) return "not a directory";
  struct stat above {};
  if (::stat((path + "/..").c_str(), &above) == 0 && above.st_dev != st.st_dev)
    return "something is mounted there already";
  std::error_code failure;
  const std::filesystem::directory_iterator entries(path, failure);
  if (failure) return failure.message();
  if (!nonempty && entries != std::filesystem::directory_iterator())
    return "the directory is not empty (-o nonempty mounts over it)";
  return std::nullopt;
}

}  // namespace

int mount_sources(const Options& options) {
  LogOutput log;
  Services services(options.cache_size, executor_threads(),
                    [&log](Severity severity, const std::string& line) { log.write(severity, line); });
  auto index = index_place(options.index, options.limits);
  if (!index) {
    say(fmt::format("-o index={}: {}", options.index, index.error().detail));
    return kExitWrongUse;
  }
  services.index = std::move(*index);
  services.address_bits = address_bits(options);
  std::vector<MountSource> sources;
  std::vector<std::unique_ptr<GrowingFile>> followed;
  for (const std::string& path : options.sources) {
    auto opened = options.follow && !is_directory(path) ? open_followed(path, options, services, followed)
                                                        : open_source(path, options, services);
    if (!opened) {
      say(open_failure(path, opened.error()));
      return kExitCannotOpen;
    }
    sources.push_back(std::move(*opened));
  }
  const auto cannot_mount = [&](std::string_view reason) {
    log.write(Severity::kError, fmt::format("{}: cannot mount: {}", options.mountpoint, reason));
    return kExitCannotMount;
  };
  if (auto problem = mountpoint_problem(options.mountpoint, options.nonempty)) return cannot_mount(*problem);
  MountTree tree(std::move(sources), options.nest, mirror_settings(options, services));
  std::optional<Follower> follower;
  if (!followed.empty()) follower.emplace(tree, std::move(followed), services.log);
  const SessionOptions session{.mountpoint = absolute(options.mountpoint),
                               .fsname = options.fsname.value_or(options.sources.front()),
                               .foreground = options.foreground,
                               .debug = options.debug,
                               .single_threaded = options.single_threaded,
                               .threads = options.threads,
                               .max_read = options.max_read.value_or(0),
                               .allow_other = options.allow_other,
                               .passed_on = options.passed_on};
  const auto in_background = [&] {
    if (!options.foreground) log.use_syslog();
  };
  const auto served = serve(tree, services.executor, session, in_background, follower ? &*follower : nullptr);
  return served ? 0 : cannot_mount(served.error().detail);
}

}  // namespace recordfs
