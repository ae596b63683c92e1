#include "fusefs/mount_command.h"

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/utf8.h"
#include "core/dataset/real_paths.h"
#include "core/decoding/protobuf_module.h"
#include "core/decoding/record_decoder.h"
#include "core/store/log.h"
#include "core/store/open_container.h"
#include "core/store/record_store.h"
#include "fusefs/confinement/confinement.h"
#include "fusefs/daemon_log.h"
#include "fusefs/exit_status.h"
#include "fusefs/followed_shards.h"
#include "fusefs/glue/followed_containers.h"
#include "fusefs/glue/follower.h"
#include "fusefs/glue/mount_table.h"
#include "fusefs/glue/session.h"
#include "fusefs/messages.h"
#include "fusefs/metrics.h"
#include "fusefs/mount_point.h"
#include "fusefs/mount_sources.h"
#include "fusefs/options.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {
namespace {

// Accepts a path, or "@" and the name of an abstract socket, as in sd_notify(3).
Descriptor connected_to(const std::string& socket_name) {
  sockaddr_un address{};
  const bool is_name = socket_name.starts_with('/') || socket_name.starts_with('@');
  if (!is_name || socket_name.size() >= sizeof(address.sun_path)) return {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  if (socket_name.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());
  Descriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!made || ::connect(made.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return {};
  return made;
}

void send(const Descriptor& socket, const std::string& message) {
  while (::send(socket.number(), message.data(), message.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

// Returns whether a program listens at /dev/log.
bool has_system_log() {
  // EPROTOTYPE: the listener uses another socket type, which syslog(3) supports.
  return connected_to("/dev/log") || errno == EPROTOTYPE;
}

// Sanitizers write reports, start a symbolizer, and fork to search for leaks.
#ifdef RECORDFS_SANITIZED
constexpr bool kConfines = false;
#else
constexpr bool kConfines = true;
#endif

constexpr std::size_t kMostStores = 16;  // with a line in the statistics

constexpr std::string_view kNoSystemLog =
    "warning: no system log (/dev/log), so the daemon's messages are lost (try: -o log=FILE)";

template <class Value>
std::string cache_line(std::string_view of_what, const SharedCache<Value>& cache) {
  const auto statistics = cache.statistics();
  return fmt::format("cache of {}: {} hits, {} misses, {} of {} bytes", of_what, statistics.hits, statistics.misses,
                     statistics.bytes, cache.capacity());
}

// Returns lines about caches, bytes read and decoded, memory, and the scans of the first stores.
std::vector<std::string> statistics_of(const Services& services,
                                       const std::vector<std::shared_ptr<const RecordStore>>& stores) {
  std::vector<std::string> lines = {
      cache_line("chunks", services.chunks), cache_line("layouts", services.layouts),
      fmt::format("read: {} bytes; decoded: {} bytes", FileSource::bytes_read(), services.decoded_bytes.load())};
#ifdef __GLIBC__
  // Includes freed memory that malloc keeps, because a daemon holds more than it uses.
  const struct mallinfo2 memory = mallinfo2();
  lines.push_back(
      fmt::format("memory: {} bytes in use, {} kept for reuse", memory.uordblks + memory.hblkhd, memory.fordblks));
#endif
  const std::size_t shown = std::min(stores.size(), kMostStores);
  for (std::size_t i = 0; i < shown; ++i) {
    const Catalog::ScanState state = stores[i]->index().state();
    lines.push_back(fmt::format("{}: {}, {}, {}", stores[i]->name(), counted(state.totals.chunks, "chunk"),
                                counted(state.totals.records, "record"), state.complete ? "complete" : "not complete"));
  }
  if (shown < stores.size()) lines.push_back(fmt::format("and {} more sources", stores.size() - shown));
  return lines;
}

// A failure, and the exit status for it.
struct Refusal {
  int status;
  std::string reason;
};

std::string shown_mountpoint(const Options& options) { return options.redact ? "mount point" : options.mountpoint; }

// Removes the mount point from messages of libfuse and fusermount3.
std::string redacted(std::string reason, const std::string& path) {
  for (std::size_t at = reason.find(path); at != std::string::npos; at = reason.find(path, at)) {
    reason.replace(at, path.size(), "it");
  }
  return reason;
}

// Enters a mount namespace, a process id or a file such as /proc/PID/ns/mnt (mount(8) -N). Returns the error, or
// nothing.
std::optional<std::string> enter_namespace(const std::string& place) {
  const bool is_id = place.find_first_not_of("0123456789") == std::string::npos;
  const std::string path = is_id ? fmt::format("/proc/{}/ns/mnt", place) : place;
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor && ::setns(descriptor.number(), CLONE_NEWNS) == 0) return std::nullopt;
  return fmt::format("-N {}: {}", place, std::strerror(errno));
}

// Returns what the daemon accesses after mounting. Call it before: the mount may cover a source.
AllowedPaths allowed_paths(const std::vector<std::string>& places, const Options& options, const Services& services,
                           const MetricsFile* metrics) {
  AllowedPaths allowed;
  allowed.reads_all_owners = options.join;
  for (const std::string& place : places) {
    std::error_code failed;
    allowed.readable.push_back(found_at(place));
    allowed.reads_all_owners |= std::filesystem::is_directory(place, failed);
  }
  for (const std::string& place : options.table_directories) allowed.readable.push_back(found_at(place));
  if (!options.wal_directory.empty()) allowed.readable.push_back(found_at(options.wal_directory));
  if (services.index) {
    make_directory(*services.index);
    allowed.saved.push_back(found_at(services.index->directory));
  }
  if (metrics != nullptr) allowed.saved.emplace_back(::fcntl(metrics->directory().number(), F_DUPFD_CLOEXEC, 0));
  // Each thread of the loop opens the device.
  allowed.devices.push_back(found_at("/dev/fuse"));
  return allowed;
}

// Returns what df(1) and findmnt(8) show as the source: a path that means the same in every directory.
std::string absolute_source(const std::string& source) {
  std::error_code failed;
  if (!std::filesystem::is_directory(source, failed)) return source == "-" ? source : RealPaths().of(source);
  const auto real = std::filesystem::canonical(source, failed);
  return failed ? source : real.string();
}

SessionOptions session_options(const Options& options, const MountPoint& point) {
  return {.mountpoint = point.path(),
          .fsname = options.fsname.value_or(absolute_source(options.sources.front())),
          .foreground = options.foreground,
          .debug = options.debug,
          .single_threaded = options.single_threaded,
          .threads = options.threads,
          .max_read = options.max_read.value_or(0),
          .allow_other = options.allow_other,
          .has_extended_attributes = options.xattr,
          .auto_unmount = options.auto_unmount,
          .remove_mountpoint = point.was_made(),
          .timeout = options.timeout,
          .passed_on = options.passed_on};
}

// Reads the types of -o descriptors and type. The error's detail is a whole message.
Result<UserTypes> named_types(const Options& options) {
  auto types = read_user_types(options.descriptors, options.type);
  if (types) return types;
  Error why = std::move(types).error();
  why.detail = fmt::format("-o descriptors={}: {}", options.redact ? "..." : options.descriptors, why.detail);
  return why;
}

// Returns whether libprotobuf may be needed. Containers in a mirrored directory or a data
// set are not known in advance.
bool may_decode_messages(const MountTree& tree, const UserTypes& types) {
  const auto stores = tree.containers().stores();
  if (tree.mirror() != nullptr || tree.joined() != nullptr) return true;
  return std::ranges::any_of(stores, [&types](const auto& store) {
    return RecordDecoder(store->schema(), store->metadata(), types).decodes_messages({});
  });
}

// Returns whether a path is a directory that contains any of these files or directories, or is one of them.
bool hides_any(const std::string& path, const std::vector<std::string>& places) {
  return std::ranges::any_of(places,
                             [&](const std::string& place) { return place == path || place.starts_with(path + "/"); });
}

// Returns what is followed; null if nothing is.
std::unique_ptr<Followed> followed_of(OpenedSources& opened, MountTree& tree, const Options& options,
                                      const Services& services) {
  if (opened.new_shards != nullptr) {
    return std::make_unique<FollowedShards>(*tree.joined(), std::move(opened.new_shards), *opened.shards, options,
                                            services);
  }
  if (opened.followed.empty()) return nullptr;
  return std::make_unique<FollowedContainers>(tree.containers(), std::move(opened.followed), services.log);
}

// Returns the counts of what the mount shows now. Thread-safe.
SourceCounts source_counts(MountTree& tree) {
  if (JoinedSet* set = tree.joined()) {
    const DataSet::Progress progress = set->progress();
    return {.all = progress.all, .scanned = progress.shards, .missing = set->missing()};
  }
  const auto stores = tree.containers().stores();
  const auto scanned = std::ranges::count_if(stores, [](const auto& store) { return store->index().state().complete; });
  return {.all = stores.size(), .scanned = static_cast<std::uint64_t>(scanned)};
}

// Writes metrics from now on. `statistics` must be callable until the file stops.
void start(MetricsFile& metrics, const std::string& mount, MountTree& tree, const Services& services,
           const std::function<RequestStatistics()>& statistics) {
  metrics.start([mount, &tree, &services, statistics, begin = std::chrono::steady_clock::now()] {
    const auto uptime = std::chrono::steady_clock::now() - begin;
    return metrics_text(mount, services, statistics(), source_counts(tree),
                        std::chrono::duration_cast<std::chrono::seconds>(uptime));
  });
}

// Logs that the mount begins, and what it shows.
void log_beginning(const DaemonLog& log, const Options& options, const MountTree& tree) {
  const auto stores = tree.containers().stores();
  for (std::size_t i = 0; i < std::min(stores.size(), kMostStores); ++i) {
    log.note(fmt::format("{}: opened: {}, {}", stores[i]->name(), stores[i]->traits().format,
                         counted(stores[i]->source().size(), "byte")));
  }
  const std::string more = options.sources.size() > 1 ? fmt::format(" and {} more", options.sources.size() - 1) : "";
  log.note(fmt::format("{}{}: mounted on {} (recordfs {})", shown_source(options, 0), more, shown_mountpoint(options),
                       RECORDFS_VERSION));
}

// Returns how to open the log file again; null if there is none.
std::function<Descriptor()> log_opener(const Options& options) {
  if (options.log_file.empty()) return {};
  return [&path = options.log_file] {
    auto opened = open_log_file(path);
    return opened ? std::move(*opened) : Descriptor();
  };
}

// Goes on in the log file that was opened again.
void reopen(const DaemonLog& log, const Descriptor& opened) {
  if (!opened) {
    return log.write(Severity::kWarning, "the log file cannot be opened again, so messages still go to the old one");
  }
  log.replace_file(opened);
  log.note("the log file was opened again");
}

void log_statistics(const DaemonLog& log, const std::vector<std::string>& lines, MountTree& tree,
                    const Services& services) {
  for (const std::string& line : lines) log.answer(line);
  for (const std::string& line : statistics_of(services, tree.containers().stores())) log.answer(line);
  if (const Mirror* mirror = tree.mirror())
    log.answer(fmt::format("mirrored containers: {} open", mirror->open_containers()));
  if (JoinedSet* set = tree.joined()) {
    const DataSet::Progress progress = set->progress();
    log.answer(fmt::format("shards: {} counted, {}, {} open", progress.shards,
                           counted(progress.totals.records, "record"), set->open_containers()));
  }
}

// Mounts the sources and serves them until the end.
std::optional<Refusal> serve_sources(const Options& options, const UserTypes& types, ReadyNotification& ready,
                                     bool prints_name, Services& services, MetricsFile* metrics, DaemonLog& log) {
  const auto cannot_mount = [&](const std::string& reason) {
    return Refusal{kExitCannotMount, fmt::format("{}: cannot mount: {}", shown_mountpoint(options), reason)};
  };
  auto opened = open_sources(options, services);
  if (!opened) return Refusal{kExitCannotOpen, opened.error().detail};
  const auto point = MountPoint::at(options);
  if (!point) return cannot_mount(point.error().detail);
  if (options.join && hides_any(point->path(), opened->places)) return cannot_mount("it would hide a shard");
  // The mount point may have been made, and match a pattern.
  if (opened->new_shards && hides_any(point->path(), opened->new_shards->directories())) {
    return cannot_mount("new shards are looked for there");
  }
  MountTree tree(std::move(opened->sources), options.nest, mirror_settings(options, services), options.record_suffix,
                 types);
  tree.containers().prepare({});
  for (const auto& store : tree.containers().stores()) {
    if (const auto named = check_types(types, store->schema(), store->metadata()); !named) {
      return Refusal{kExitWrongUse, "-o descriptors: " + named.error().detail};
    }
  }
  std::optional<Follower> follower;
  if (auto followed = followed_of(*opened, tree, options, services)) follower.emplace(std::move(followed));
  const AllowedPaths allowed = allowed_paths(opened->places, options, services, metrics);
  const bool confines = options.sandbox.value_or(kConfines);
  // Load what cannot be opened after confinement. Read no source between the mount and the first reply: a request in
  // that time could not be interrupted.
  if (confines && may_decode_messages(tree, types)) open_protobuf_module();
  const SessionEvents events{
      .mounted =
          [&] {
            if (!options.foreground && options.log_file.empty() && !has_system_log())
              log.write(Severity::kWarning, std::string(kNoSystemLog));
            if (prints_name) std::fputs((options.mountpoint + "\n").c_str(), stdout);
            std::fflush(stdout);
          },
      .in_background = [&] { log.begin(!options.foreground); },
      .unmount_guard_can_confine =
          [&] {
            if (confines) static_cast<void>(confine_unmount_guard());  // the guard has no log
          },
      .can_confine =
          [&] {
            if (!confines) return;
            for (const std::string& kept : confine(allowed))
              log.write(Severity::kWarning, "privilege not dropped: " + kept);
          },
      .init_answered =
          [&] {
            ready.notify(fmt::format("{} on {}", shown_source(options, 0), shown_mountpoint(options)),
                         !options.foreground);
          },
      .abandoned = [&] { log.write(Severity::kWarning, "a source does not answer: exiting without waiting for it"); },
      .kept_mounted =
          [&] {
            log.write(Severity::kDetail, fmt::format("{}: no request for {} seconds, but the mount is in use",
                                                     shown_mountpoint(options), options.timeout));
          },
      .began =
          [&](const std::function<RequestStatistics()>& statistics) {
            log_beginning(log, options, tree);
            if (metrics != nullptr)
              start(*metrics, options.redact ? options.metrics_file : point->path(), tree, services, statistics);
          },
      .ended =
          [&] {
            if (metrics != nullptr) metrics->stop();
          },
      .unmounted =
          [&](const std::string& why) {
            log.note(fmt::format("{}: unmounted: {}", shown_mountpoint(options),
                                 options.redact ? redacted(why, point->path()) : why));
          },
      .open_log = log_opener(options),
      .log_opened = [&log](const Descriptor& file) { reopen(log, file); },
      .statistics_requested =
          [&](const std::vector<std::string>& lines) { log_statistics(log, lines, tree, services); }};
  const Descriptor mark = mark_daemon(point->path());
  const auto served =
      serve(tree, services.executor, session_options(options, *point), events, follower ? &*follower : nullptr);
  if (served) return std::nullopt;
  return cannot_mount(options.redact ? redacted(served.error().detail, point->path()) : served.error().detail);
}

}  // namespace

Result<ReadyNotification> ReadyNotification::of(std::optional<int> descriptor) {
  ReadyNotification ready;
  if (const char* name = std::getenv("NOTIFY_SOCKET")) ready.socket_ = connected_to(name);
  if (!descriptor) return ready;
  // Avoids the standard descriptors, which the daemon replaces.
  ready.descriptor_ = Descriptor(::fcntl(*descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!ready.descriptor_) return system_error(errno);
  if (*descriptor > STDERR_FILENO) ::close(*descriptor);
  return ready;
}

void ReadyNotification::notify(const std::string& status, bool is_in_background) {
  while (descriptor_ && ::write(descriptor_.number(), "\n", 1) < 0 && errno == EINTR) {
  }
  descriptor_ = Descriptor();
  if (!socket_) return;
  std::string message = fmt::format("READY=1\nSTATUS={}\n", printable(status));
  if (is_in_background) message += fmt::format("MAINPID={}\n", ::getpid());
  send(socket_, message);
  socket_ = Descriptor();
}

int mount_sources(Options options) {
  if (options.fake) return kExitGood;
  const auto refuse = [](int status, const std::string& reason) {
    print_message(reason);
    return status;
  };
  // First, because a file opened earlier could get the given descriptor's number.
  auto ready = ReadyNotification::of(options.ready_fd);
  if (!ready) {
    return refuse(kExitWrongUse, fmt::format("--ready-fd {}: {}", *options.ready_fd, ready.error().detail));
  }
  if (options.mount_namespace) {
    if (auto problem = enter_namespace(*options.mount_namespace)) return refuse(kExitCannotMount, *problem);
  }
  auto types = named_types(options);
  if (!types) return refuse(kExitWrongUse, types.error().detail);
  const auto chosen = choose_mount_point(options);
  if (!chosen) return refuse(kExitCannotMount, chosen.error().detail);
  DaemonLog log(options.verbosity, options.redact);
  if (!options.log_file.empty()) {
    if (auto opened = log.open_file(options.log_file); !opened) {
      const std::string shown = options.redact ? "..." : options.log_file;
      return refuse(kExitWrongUse, fmt::format("-o log={}: {}", shown, opened.error().detail));
    }
    options.log_file = std::filesystem::absolute(options.log_file);  // a daemon changes its directory
  }
  Services services(options.cache_size, executor_threads(),
                    [&log](Severity severity, const std::string& line) { log.write(severity, line); });
  auto index = index_place(options.index, options.limits);
  if (!index) return refuse(kExitWrongUse, fmt::format("-o index={}: {}", options.index, index.error().detail));
  services.index = std::move(*index);
  services.keeps_scanned = true;
  services.finds_unreadable = Services::FindsUnreadable::kLocal;
  services.address_bits = address_bits(options);
  if (options.listed_keys) services.keys.table.keys = *options.listed_keys;
  std::unique_ptr<MetricsFile> metrics;
  if (!options.metrics_file.empty()) {
    auto made = MetricsFile::at(options.metrics_file, services.log);
    if (!made) {
      const std::string shown = options.redact ? "..." : options.metrics_file;
      return refuse(kExitWrongUse, fmt::format("-o metrics={}: {}", shown, made.error().detail));
    }
    metrics = std::move(*made);
  }
  const auto refusal = serve_sources(options, *types, *ready, *chosen, services, metrics.get(), log);
  if (!refusal) return kExitGood;
  log.write(Severity::kError, refusal->reason);
  return refusal->status;
}

}  // namespace recordfs
