// recordfs FILE... MOUNTPOINT: opens the sources, mounts them, and serves.
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/base/read_window.h"
#include "core/base/utf8.h"
#include "core/formats/registry.h"
#include "core/store/record_store.h"
#include "fusefs/build_id.h"
#include "fusefs/glue/session.h"
#include "fusefs/options.h"
#include "fusefs/tree/mount_tree.h"
#include "fusefs/tree/node.h"

namespace recordfs {
namespace {

constexpr int kExitWrongUse = 1;
constexpr int kExitCannotOpen = 2;
constexpr int kExitCannotMount = 3;
constexpr unsigned kMostExecutorThreads = 16;

// Names of files may hold anything, and a message is one line.
void say(const std::string& line) { std::fputs(("recordfs: " + printable(line) + "\n").c_str(), stderr); }

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

std::string open_failure(const std::string& path, const Error& error) {
  if (error.code == Code::kIo || error.code == Code::kNoContainer) return fmt::format("{}: {}", path, error.detail);
  return fmt::format("{}: {}", path, to_string(error));
}

void override_ownership(Ownership& ownership, const Options& options) {
  if (options.uid) ownership.uid = *options.uid;
  if (options.gid) ownership.gid = *options.gid;
  if (!options.umask) return;
  ownership.file_mode = 0444 & ~*options.umask;
  ownership.directory_mode = 0555 & ~*options.umask;
}

Result<MountedContainer> open_source(const std::string& path, const Options& options, Services& services) {
  auto file = FileSource::open(path);
  if (!file) return std::move(file).error();
  const auto source = std::make_shared<const WindowedSource>(*file);
  const std::string name = std::filesystem::path(path).filename();
  auto container = open_container(source, name, options.limits);
  if (!container) return std::move(container).error();
  Ownership ownership = ownership_of((*file)->status());
  override_ownership(ownership, options);
  return MountedContainer{name, std::make_shared<RecordStore>(path, source, std::move(*container), services),
                          ownership};
}

// Where catalogs are saved by default; nullopt where the environment does not tell.
std::optional<std::string> cache_directory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";  // relative ones do not count, by the XDG specification
  };
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/recordfs";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/recordfs";
  return std::nullopt;
}

// A directory that is named from where the program was started, which the daemon leaves. Fails where none can be there.
Result<std::string> index_directory(const std::string& named) {
  std::error_code failure;
  const auto from_root = std::filesystem::absolute(named, failure);
  if (failure) return Error{.code = Code::kIo, .detail = failure.message()};
  const auto real = std::filesystem::weakly_canonical(from_root, failure);
  if (failure) return Error{.code = Code::kIo, .detail = failure.message()};
  return real.string();
}

Result<std::optional<IndexPlace>> index_place(const Options& options) {
  if (options.index == "no") return std::optional<IndexPlace>{};
  std::optional<std::string> directory;
  if (options.index == "auto") {
    directory = cache_directory();
  } else if (auto named = index_directory(options.index)) {
    directory = std::move(*named);
  } else {
    return std::move(named).error();
  }
  std::string program = build_id();
  if (!directory || program.empty()) return std::optional<IndexPlace>{};
  const Limits& limits = options.limits;
  return std::optional(IndexPlace{.directory = *directory,
                                  .settings = fmt::format("{} {}", limits.stored_chunk, limits.decoded_chunk),
                                  .program = std::move(program)});
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

// All cores may decode ahead, and one thread more is left for requests that were parked.
unsigned executor_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMostExecutorThreads - 1) + 1;
}

// Chunks come and go, each about as large as the one before: their memory stays with the process, in one place, and is
// not fetched from the system page by page for each.
void reuse_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 32 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

int mount_sources(const Options& options) {
  LogOutput log;
  Services services(options.cache_size, executor_threads(),
                    [&log](Severity severity, const std::string& line) { log.write(severity, line); });
  auto index = index_place(options);
  if (!index) {
    say(fmt::format("-o index={}: {}", options.index, index.error().detail));
    return kExitWrongUse;
  }
  services.index = std::move(*index);
  services.address_bits = Numbering::value_bits(options.sources.size());
  std::vector<MountedContainer> containers;
  for (const std::string& path : options.sources) {
    auto opened = open_source(path, options, services);
    if (!opened) {
      say(open_failure(path, opened.error()));
      return kExitCannotOpen;
    }
    containers.push_back(std::move(*opened));
  }
  const auto cannot_mount = [&](std::string_view reason) {
    log.write(Severity::kError, fmt::format("{}: cannot mount: {}", options.mountpoint, reason));
    return kExitCannotMount;
  };
  if (auto problem = mountpoint_problem(options.mountpoint, options.nonempty)) return cannot_mount(*problem);
  const MountTree tree(std::move(containers), options.nest);
  const SessionOptions session{.mountpoint = absolute(options.mountpoint),
                               .fsname = options.fsname.value_or(options.sources.front()),
                               .foreground = options.foreground,
                               .debug = options.debug,
                               .single_threaded = options.single_threaded,
                               .threads = options.threads,
                               .max_read = options.max_read.value_or(0),
                               .allow_other = options.allow_other,
                               .passed_on = options.passed_on};
  const auto served = serve(tree, services.executor, session, [&] {
    if (!options.foreground) log.use_syslog();
  });
  return served ? 0 : cannot_mount(served.error().detail);
}

// A file that is opened must not become standard input, output or error: going to the background closes these.
void fill_standard_descriptors() {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = ::open("/dev/null", O_RDWR);
  if (opened > STDERR_FILENO) ::close(opened);
}

int run(int argc, const char* const* argv) {
  fill_standard_descriptors();
  reuse_memory();
  const ParsedOptions parsed =
      parse_options(argc, argv, fmt::format("recordfs {}\n{}", RECORDFS_VERSION, fuse_version()));
  if (parsed.options) return mount_sources(*parsed.options);
  std::fputs(parsed.output.c_str(), parsed.status == 0 ? stdout : stderr);
  return parsed.status;
}

}  // namespace
}  // namespace recordfs

int main(int argc, char** argv) { return recordfs::run(argc, argv); }
