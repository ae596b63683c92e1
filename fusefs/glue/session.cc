#include "fusefs/glue/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/descriptor.h"
#include "fusefs/glue/dispatcher.h"
#include "fusefs/glue/end_limit.h"
#include "fusefs/glue/idle_end.h"
#include "fusefs/glue/init_reply.h"
#include "fusefs/glue/operations.h"
#include "fusefs/glue/signals.h"
#include "fusefs/glue/unmount_guard.h"

namespace recordfs {
namespace {

// How long the process waits for threads that a source blocks.
constexpr std::chrono::seconds kLongestEnd{10};

// --- options

// Escapes a value of -o.
std::string escaped(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (c == ',' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// Without "ro" each read invalidates the access time, and the kernel requests the attributes again.
std::string mount_options(const SessionOptions& options) {
  std::string list = "ro,nosuid,nodev,noexec,default_permissions,subtype=recordfs,fsname=" + escaped(options.fsname);
  if (options.allow_other) list += ",allow_other";
  if (options.max_read != 0) list += fmt::format(",max_read={}", options.max_read);
  for (const std::string& option : options.passed_on) list += "," + option;
  return list;
}

Session new_session(const SessionOptions& options, Mount& mount) {
  const std::string list = mount_options(options);
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  for (const char* argument : {"recordfs", "-o", list.c_str()}) fuse_opt_add_arg(&args, argument);
  if (options.debug) fuse_opt_add_arg(&args, "-d");
  Session session(fuse_session_new(&args, &operations(), sizeof(fuse_lowlevel_ops), &mount));
  fuse_opt_free_args(&args);
  return session;
}

Error failure(std::string reason) { return {.code = Code::kIo, .detail = std::move(reason)}; }

// Redirects the process's stderr, and its children's, to a file in memory: libfuse and fusermount3 report mount
// failures only there. Does nothing if the file cannot be created. At most one object at a time.
class CapturedStderr {
 public:
  CapturedStderr() : file_(::memfd_create("stderr", MFD_CLOEXEC)), stderr_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    if (file_ && stderr_) ::dup2(file_.number(), STDERR_FILENO);
  }
  ~CapturedStderr() { end(); }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  // Restores stderr and returns the first 4 KiB that were written.
  std::string end() {
    if (stderr_) ::dup2(stderr_.number(), STDERR_FILENO);
    stderr_ = Descriptor();
    std::string text(kMostText, '\0');
    const auto length = ::pread(file_.number(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return text;
  }

 private:
  static constexpr std::size_t kMostText = 4096;
  const Descriptor file_;
  Descriptor stderr_;
};

// Joins the lines, without the program names in front.
std::string reason_in(std::string_view said) {
  std::string reason;
  while (!said.empty()) {
    std::string_view line = said.substr(0, said.find('\n'));
    said.remove_prefix(std::min(line.size() + 1, said.size()));
    for (const std::string_view name : {"fuse: ", "fusermount3: ", "mount: "}) {
      if (line.starts_with(name)) line.remove_prefix(name.size());
    }
    if (line.empty()) continue;
    if (!reason.empty()) reason += "; ";
    reason += line;
  }
  return reason.empty() ? "libfuse reported no reason" : reason;
}

Result<Session> mounted_session(const SessionOptions& options, Mount& context) {
  CapturedStderr captured;
  Session session = new_session(options, context);
  if (!session || fuse_session_mount(session.get(), options.mountpoint.c_str()) != 0)
    return failure(reason_in(captured.end()));
  const std::string said = captured.end();
  std::fputs(said.c_str(), stderr);
  return session;
}

int run_loop(fuse_session* session, const SessionOptions& options) {
  if (options.single_threaded) return fuse_session_loop(session);
  const LoopConfig config(fuse_loop_cfg_create());
  fuse_loop_cfg_set_clone_fd(config.get(), 1);
  fuse_loop_cfg_set_max_threads(config.get(), options.threads);
  fuse_loop_cfg_set_idle_threads(config.get(), options.threads);
  return fuse_session_loop_mt(session, config.get());
}

// False for a device that another program has opened and mounted.
bool is_directory(const std::string& path) { return !path.starts_with("/dev/fd/"); }

bool is_unmounted(fuse_session* session) {
  pollfd asked{fuse_session_fd(session), 0, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & POLLERR) != 0;
}

// What exists while the loop runs, besides the session.
struct Serving {
  Serving(const MountTree& tree, Executor& executor, std::optional<UnmountGuard>& unmount_guard,
          const SessionEvents& events, const SessionOptions& options)
      : dispatcher(executor),
        pusher(tree),
        mount{.tree = tree,
              .dispatcher = dispatcher,
              .pusher = pusher,
              .max_read = options.max_read,
              .has_extended_attributes = options.has_extended_attributes,
              .hears_of_opened_directories = options.auto_unmount,
              .init_answered = events.init_answered},
        idle([&unmount_guard, &events] {
          const bool unmounted = unmount_guard->unmount_if_unused();
          if (!unmounted) events.kept_mounted();
          return unmounted;
        }) {}

  std::vector<std::string> statistics() const {
    return {fmt::format("requests: {}", mount.requests.text()),
            fmt::format("pushed into the kernel's cache: {}, {}", recordfs::counted(pusher.pushed_records(), "record"),
                        recordfs::counted(pusher.pushed_bytes(), "byte"))};
  }

  Dispatcher dispatcher;
  ReadAheadPusher pusher;
  Mount mount;
  IdleEnd idle;
};

Signals::Watched watched(Serving& serving, const SessionOptions& options, const SessionEvents& events,
                         EndLimit& end_limit) {
  const auto asked = [&serving] { return serving.mount.requests.asked(); };
  return {.usr1 = [&serving, &events] { events.statistics_requested(serving.statistics()); },
          .ending = [&end_limit] { end_limit.begin(); },
          .tick = std::chrono::milliseconds(std::chrono::seconds(options.timeout)) / IdleEnd::kTicks,
          .ticked = [&serving, asked] { serving.idle.tick(asked(), asked); }};
}

}  // namespace

Result<void> serve(const MountTree& tree, Executor& executor, const SessionOptions& options,
                   const SessionEvents& events, Follower* follower) {
  Signals signals;
  std::optional<UnmountGuard> unmount_guard;
  Serving serving(tree, executor, unmount_guard, events, options);
  ASSIGN_OR_RETURN(const auto session, mounted_session(options, serving.mount));
  events.mounted();
  Result<void> result;
  std::mutex unmount_guard_mutex;  // held while the guard is destroyed
  EndLimit end_limit(kLongestEnd, [&] {
    if (const std::unique_lock lock(unmount_guard_mutex, std::try_to_lock); lock && unmount_guard)
      unmount_guard->unmount();
    events.abandoned();
    // First: exit closes files in order, and a close on a hanging source may block.
    ::close(fuse_session_fd(session.get()));
    ::_exit(0);
  });
  const bool is_in_background = watch_init_reply(session.get()) == 0 && fuse_daemonize(options.foreground ? 1 : 0) == 0;
  if (is_in_background) {
    unmount_guard.emplace(
        UnmountGuard::Config{.mountpoint = is_directory(options.mountpoint) ? options.mountpoint : std::string(),
                             .remove_directory = options.remove_mountpoint,
                             .confine = events.unmount_guard_can_confine});
    // Before other threads exist: they might log, and would not be confined.
    events.in_background();
    events.can_confine();
  }
  if (!is_in_background) {
    result = failure("cannot daemonize");
  } else if (!executor.start() || !serving.dispatcher.start() || !serving.pusher.start(session.get()) ||
             !signals.watch(session.get(), watched(serving, options, events, end_limit)) ||
             (follower != nullptr && !follower->start(session.get()))) {
    result = failure("cannot create a thread");
  } else if (run_loop(session.get(), options) != 0) {
    result = failure("lost the connection to the kernel");
  }
  end_limit.begin();
  signals.stop();
  // Unmounts before joining threads that may wait for a source.
  if (unmount_guard && unmount_guard->is_there()) {
    if (is_unmounted(session.get())) unmount_guard->is_gone();
    const std::lock_guard lock(unmount_guard_mutex);
    unmount_guard.reset();
  } else {
    serving.dispatcher.close();  // replies need the descriptor that unmounting closes
    fuse_session_unmount(session.get());
  }
  serving.dispatcher.close();
  executor.stop();
  serving.dispatcher.stop();
  serving.pusher.stop();
  if (follower != nullptr) follower->stop();
  return result;
}

}  // namespace recordfs
