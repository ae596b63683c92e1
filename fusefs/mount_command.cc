#include "fusefs/mount_command.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
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
#include "core/base/parse_number.h"
#include "core/base/result.h"
#include "core/base/sandbox.h"
#include "core/base/storage.h"
#include "core/base/thrown.h"
#include "core/dataset/real_paths.h"
#include "core/dataset/source_spec.h"
#include "core/decoding/protobuf_module.h"
#include "core/decoding/record_decoder.h"
#include "core/remote/session.h"
#include "core/store/log.h"
#include "core/store/open_container.h"
#include "fusefs/background.h"
#include "fusefs/confinement/confinement.h"
#include "fusefs/daemon_confinement.h"
#include "fusefs/daemon_log.h"
#include "fusefs/exit_status.h"
#include "fusefs/glue/follow_thread.h"
#include "fusefs/glue/growing_containers.h"
#include "fusefs/glue/mount_helper.h"
#include "fusefs/glue/mount_table.h"
#include "fusefs/glue/session.h"
#include "fusefs/glue/signals.h"
#include "fusefs/growing_shards.h"
#include "fusefs/messages.h"
#include "fusefs/metrics.h"
#include "fusefs/mount_point.h"
#include "fusefs/mount_sources.h"
#include "fusefs/mount_statistics.h"
#include "fusefs/options.h"
#include "fusefs/ready_notification.h"
#include "fusefs/remote_traffic.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostStores = 16;  // with a line in the log

constexpr std::string_view kNoSystemLog =
    "warning: no system log (/dev/log), so the daemon's messages are lost (try: -o log=FILE)";

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

// Returns what df(1) and findmnt(8) show as the source: a path that means the same in every directory.
std::string absolute_source(const std::string& source) {
  std::error_code failed;
  if (!Location(source).is_local()) return source;
  if (!is_directory(source)) return source == "-" ? source : RealPaths().of(source);
  const auto real = std::filesystem::canonical(source, failed);
  return failed ? source : real.string();
}

SessionOptions session_options(const Options& options, const std::string& mountpoint) {
  return {.mountpoint = mountpoint,
          .foreground = options.foreground,
          .debug = options.debug,
          .single_threaded = options.single_threaded,
          .threads = options.threads,
          .max_read = options.max_read.value_or(0),
          .allow_other = options.allow_other,
          .has_extended_attributes = options.xattr,
          .auto_unmount = options.auto_unmount,
          .timeout = options.timeout,
          .passed_on = options.passed_on};
}

// Returns how to open the log file again; null if there is none.
std::function<Descriptor()> log_opener(const Options& options) {
  if (options.log_file.empty()) return {};
  return [&path = options.log_file] {
    auto opened = open_log_file(path);
    return opened ? std::move(*opened) : Descriptor();
  };
}

// Starts the process that mounts, and unmounts.
MountHelper helper_for(const Options& options, bool confines) {
  std::optional<MountPoint> kept;  // until the helper's end; its destructor does not run
  const MountHelper::Config config{.prepare = [&]() -> Result<MountHelper::Point> {
                                     auto point = MountPoint::at(options);
                                     if (!point) return std::move(point).error();
                                     kept.emplace(std::move(*point));
                                     return MountHelper::Point{kept->path(), kept->was_made()};
                                   },
                                   .mount =
                                       [&](const std::string& path) {
                                         SessionOptions mounted = session_options(options, path);
                                         mounted.fsname =
                                             options.fsname.value_or(absolute_source(options.sources.front()));
                                         return mount_device(mounted);
                                       },
                                   .confine =
                                       [confines] {
                                         if (confines)
                                           static_cast<void>(confine_unmount_guard());  // the helper has no log
                                       },
                                   .open_log = log_opener(options)};
  return MountHelper(config);
}

// Reads the types of -o descriptors and type. The error's detail is a whole message.
Result<UserTypes> named_types(const Options& options) {
  auto types = read_user_types(options.descriptors, options.type);
  if (types) return types;
  Error why = std::move(types).error();
  why.detail = fmt::format("-o descriptors={}: {}", options.redact ? "..." : options.descriptors, why.detail);
  return why;
}

// Returns whether libprotobuf may be needed. Containers in a mirrored directory or a data set are not known in advance.
bool may_decode_messages(const MountTree& tree, const UserTypes& types) {
  const auto stores = tree.containers().stores();
  if (tree.mirror() != nullptr || tree.data_set() != nullptr) return true;
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
std::unique_ptr<GrowthSource> followed_of(OpenedSources& opened, MountTree& tree, const Options& options,
                                          const StoreResources& services) {
  if (opened.new_shards != nullptr) {
    return std::make_unique<GrowingShards>(*tree.data_set(), std::move(opened.new_shards), *opened.shards, options,
                                           services);
  }
  if (opened.followed.empty()) return nullptr;
  return std::make_unique<GrowingContainers>(tree.containers(), std::move(opened.followed), services.log);
}

// Writes metrics from now on. `statistics` must be callable until the file stops.
void start(MetricsFile& metrics, const std::string& mount, MountTree& tree, const StoreResources& services,
           const std::function<RequestStatistics()>& statistics) {
  metrics.start([mount, &tree, &services, statistics, begin = std::chrono::steady_clock::now()] {
    const auto uptime = std::chrono::steady_clock::now() - begin;
    return metrics_text(mount, services, statistics(), source_counts(tree),
                        std::chrono::duration_cast<std::chrono::seconds>(uptime));
  });
}

// What a mount has besides its sources.
struct Process {
  const Options& options;
  ReadyNotification& ready;
  Background& background;
  const bool prints_name;
  StoreResources& services;
  MetricsFile* const metrics;  // may be null
  DaemonLog& log;
  bool lacks_log = false;  // messages will be lost
};

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

// Goes on in the log file that was opened again.
void reopen(const DaemonLog& log, const Descriptor& opened) {
  if (!opened) {
    return log.write(Severity::kWarning, "the log file cannot be opened again, so messages still go to the old one");
  }
  log.replace_file(opened);
  log.note("the log file was opened again");
}

// Returns what SIGHUP does once the helper has opened the log file again; null if there is none.
std::function<void(const Descriptor& opened)> log_reopener(const Process& process) {
  if (process.options.log_file.empty()) return {};
  return [&log = process.log](const Descriptor& opened) { reopen(log, opened); };
}

void report_abandoned(const DaemonLog& log) {
  log.write(Severity::kWarning, "a source does not answer: exiting without waiting for it");
}

// All arguments must outlive the result. `path`: of the mount point.
SessionEvents events_of(Process& process, MountTree& tree, const Descriptor& mark, const std::string& path) {
  const Options& options = process.options;
  return {
      .mounted =
          [&] {
            mark_daemon(mark, path);
            if (process.prints_name) std::fputs((options.mountpoint + "\n").c_str(), stdout);
            std::fflush(stdout);
          },
      .init_answered =
          [&] {
            process.log.begin();
            log_beginning(process.log, options, tree);
            process.ready.notify(fmt::format("{} on {}", shown_source(options, 0), shown_mountpoint(options)),
                                 !options.foreground);
            process.background.ready();
          },
      .abandoned = [&] { report_abandoned(process.log); },
      .kept_mounted =
          [&] {
            process.log.write(Severity::kDetail, fmt::format("{}: no request for {} seconds, but the mount is in use",
                                                             shown_mountpoint(options), options.timeout));
          },
      .began =
          [&](const std::function<RequestStatistics()>& statistics) {
            if (process.metrics == nullptr) return;
            start(*process.metrics, options.redact ? options.metrics_file : path, tree, process.services, statistics);
          },
      .ended =
          [&] {
            if (process.metrics != nullptr) process.metrics->stop();
          },
      .unmounted =
          [&](const std::string& why) {
            process.log.note(fmt::format("{}: unmounted: {}", shown_mountpoint(options),
                                         options.redact ? redacted(why, path) : why));
            if (remote::Session::is_used()) process.log.write(Severity::kDetail, remote_traffic_text());
          },
      .log_opened = log_reopener(process),
      .statistics_requested =
          [&](const std::vector<std::string>& lines) {
            for (const std::string& line : lines) process.log.answer(line);
            for (const std::string& line : statistics_of(process.services, tree)) process.log.answer(line);
          }};
}

// Returns why a mount point would hide what the mount reads, or nothing.
std::optional<std::string> hidden_by(const std::string& path, const Options& options, const OpenedSources& opened) {
  if (options.join && hides_any(path, opened.places)) return "it would hide a shard";
  // The mount point may have been made, and match a pattern.
  if (opened.new_shards && hides_any(path, opened.new_shards->directories())) return "new shards are looked for there";
  return std::nullopt;
}

// Returns the absolute path of the mount point, which exists. Fails with kIo; the detail is the reason.
Result<std::string> prepared_point(MountHelper& helper, const Options& options) {
  if (helper.is_there()) return helper.prepared();
  const auto number = parse_number<int>(options.mountpoint.substr(options.mountpoint.rfind('/') + 1));
  if (!number || ::fcntl(*number, F_GETFD) < 0) return Error{.code = Code::kIo, .detail = "not an open descriptor"};
  return options.mountpoint;
}

Refusal cannot_mount(const Options& options, const std::string& reason) {
  return {kExitCannotMount, fmt::format("{}: cannot mount: {}", shown_mountpoint(options), reason)};
}

// Returns the refusal for a container whose records name types that -o descriptors lacks, or nothing.
std::optional<Refusal> unnamed_types(const MountTree& tree, const UserTypes& types) {
  for (const auto& store : tree.containers().stores()) {
    if (const auto named = check_types(types, store->schema(), store->metadata()); !named) {
      return Refusal{kExitWrongUse, "-o descriptors: " + named.error().detail + " (try: -o type)"};
    }
  }
  return std::nullopt;
}

// Mounts opened sources and serves them until the end. `helper` was asked to prepare the mount point.
std::optional<Refusal> serve_opened(Process& process, OpenedSources opened, const UserTypes& types, MountHelper& helper,
                                    const Descriptor& mark) {
  const Options& options = process.options;
  const auto path = prepared_point(helper, options);
  if (!path) return cannot_mount(options, path.error().detail);
  if (const auto reason = hidden_by(*path, options, opened)) return cannot_mount(options, *reason);
  // The threads of the tree may wait for a source, too.
  EndLimit end_limit(kLongestEnd, [&process] {
    report_abandoned(process.log);
    ::_exit(0);
  });
  MountTree tree(std::move(opened.sources), options.nest, mirror_settings(options, process.services),
                 options.record_suffix, types);
  tree.containers().prepare({});
  if (auto refusal = unnamed_types(tree, types)) return refusal;
  std::optional<FollowThread> follower;
  if (auto followed = followed_of(opened, tree, options, process.services)) follower.emplace(std::move(followed));
  Signals signals;
  // Looks up no path of a source between the mount and the first reply: the mount may cover it, and such a request
  // could not be interrupted.
  helper.start_mounting();
  if (options.sandbox.value_or(confines_threads())) {
    if (may_decode_messages(tree, types)) open_protobuf_module();
    for (const std::string& kept : stop_loading_code())
      process.log.write(Severity::kWarning, "privilege not dropped: " + kept);
  }
  if (process.lacks_log) process.log.write(Severity::kWarning, std::string(kNoSystemLog));
  const auto served = serve(tree, process.services.executor, session_options(options, *path), helper, signals,
                            events_of(process, tree, mark, *path), follower ? &*follower : nullptr);
  end_limit.begin();
  if (served) return std::nullopt;
  const std::string& reason = served.error().detail;
  return cannot_mount(options, options.redact ? redacted(reason, *path) : reason);
}

// Returns whether the mount point may be made before the sources are open: not in a directory that is searched for
// them, nor in the place of a missing one.
bool may_prepare_early(const Options& options) {
  return !opens_files_later(options) && std::ranges::all_of(options.sources, [](const std::string& source) {
    std::error_code ignored;
    return std::filesystem::exists(source, ignored);
  });
}

// Opens the sources, mounts them, and serves them until the end. Everything that is read of a source is read after the
// process has dropped its privileges.
std::optional<Refusal> serve_sources(Process& process) {
  const Options& options = process.options;
  const bool confines = options.sandbox.value_or(confines_threads());
  process.lacks_log = !options.foreground && options.log_file.empty() && !has_system_log();
  process.log.connect(!options.foreground);
  const Descriptor mark = new_mark();
  const bool is_mounted = is_open_device(options.mountpoint);
  MountHelper helper = is_mounted ? MountHelper() : helper_for(options, confines);
  if (!is_mounted && !helper.is_there()) return cannot_mount(options, "cannot create a process");
  const bool prepares_early = may_prepare_early(options);
  if (prepares_early) helper.start_preparing();
  std::optional<ShardList> manifest;
  if (options.manifest) {
    auto list = SourceSpec{.manifest = options.sources.front()}.shards();
    if (!list) return Refusal{kExitCannotOpen, list.error().detail};
    manifest = std::move(*list);
  }
  if (confines) {
    if (const auto confined = confine_daemon(options, manifest, process.services); !confined)
      return Refusal{kExitCannotOpen, confined.error().detail};
  }
  const auto types = named_types(options);
  if (!types) return Refusal{kExitWrongUse, types.error().detail};
  auto opened = open_sources(options, process.services, std::move(manifest));
  if (!opened) return Refusal{kExitCannotOpen, opened.error().detail};
  if (!prepares_early) helper.start_preparing();
  if (confines && !opens_files_later(options)) {
    for (const std::string& kept : stop_reading_all_owners())
      process.log.write(Severity::kWarning, "privilege not dropped: " + kept);
  }
  return serve_opened(process, std::move(*opened), *types, helper, mark);
}

int refuse(int status, const std::string& reason) {
  print_message(reason);
  return status;
}

// Mounts with checked options. The log has its file.
int mount_with(const Options& options, ReadyNotification& ready, bool prints_name, DaemonLog& log) {
  // Blocks of remote files have the other half.
  const std::uint64_t memory = remote::Session::is_used() ? options.cache_size / 2 : options.cache_size;
  StoreResources services(memory, executor_threads(),
                          [&log](Severity severity, const std::string& line) { log.write(severity, line); });
  auto index = index_place(options.index, options.limits);
  if (!index) return refuse(kExitWrongUse, fmt::format("-o index={}: {}", options.index, index.error().detail));
  services.index = std::move(*index);
  services.remote_scans = {.most = options.remote_scan,
                           .advice = " (try: recordfs index URL, or mount with -o remote_scan=auto)"};
  services.keeps_scanned = true;
  services.finds_unreadable = StoreResources::FindsUnreadable::kLocal;
  services.address_bits = address_bits(options);
  auto background = Background::begin(options.foreground);
  if (!background) return refuse(kExitCannotMount, "cannot create a process: " + background.error().detail);
  std::unique_ptr<MetricsFile> metrics;
  if (!options.metrics_file.empty()) {
    const bool confines = options.sandbox.value_or(confines_threads());
    auto made = MetricsFile::at(options.metrics_file, services.log, [confines](const std::string& directory) {
      AllowedPaths allowed;
      allowed.saves_for_all_owners = true;
      allowed.saved.push_back(found_at(directory));
      if (confines) static_cast<void>(confine(allowed));  // the process has no log
    });
    if (!made) {
      const std::string shown = options.redact ? "..." : options.metrics_file;
      return refuse(kExitWrongUse, fmt::format("-o metrics={}: {}", shown, made.error().detail));
    }
    metrics = std::move(*made);
  }
  Process process{options, ready, *background, prints_name, services, metrics.get(), log};
  const auto refusal = serve_sources(process);
  if (!refusal) return kExitGood;
  log.write(Severity::kError, refusal->reason);
  return refusal->status;
}

}  // namespace

int mount_sources(Options options) {
  if (options.fake) return kExitGood;
  // First, because a file opened earlier could get the given descriptor's number.
  auto ready = ReadyNotification::of(options.ready_fd);
  if (!ready) {
    return refuse(kExitWrongUse, fmt::format("--ready-fd {}: {}", *options.ready_fd, ready.error().detail));
  }
  if (options.mount_namespace) {
    if (auto problem = enter_namespace(*options.mount_namespace)) return refuse(kExitCannotMount, *problem);
  }
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
  int status = kExitCannotMount;
  if (has_memory_for([&] { status = mount_with(options, *ready, *chosen, log); })) return status;
  return refuse(status, fmt::format("{}: cannot mount: out of memory", shown_mountpoint(options)));
}

}  // namespace recordfs
