#include "fusefs/glue/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/descriptor.h"
#include "core/base/thread.h"
#include "fusefs/glue/dispatcher.h"
#include "fusefs/glue/mount_helper.h"
#include "fusefs/glue/operations.h"
#include "fusefs/glue/version.h"

namespace recordfs {
namespace {

// How long a signal waits for a record that is being stored in the page cache.
constexpr std::chrono::seconds kStoresEnd{1};

// --- INIT

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)

// The start of fuse_init_out in <linux/fuse.h>. It follows a fuse_out_header.
struct InitReply {
  std::uint32_t major, minor, max_readahead, flags;
};
constexpr std::uint32_t kParallelDirectoryOperations = 1u << 18;
constexpr std::size_t kReplyHeader = 16;

constexpr std::uint32_t kProtocolMajor = 7;

bool is_init_reply(const iovec* parts, int count) {
  if (count != 2 || parts[0].iov_len != kReplyHeader || parts[1].iov_len < sizeof(InitReply)) return false;
  InitReply reply{};
  std::memcpy(&reply, parts[1].iov_base, sizeof(reply));
  return reply.major == kProtocolMajor;
}

void complete(const iovec& init_reply) {
  char* flags = static_cast<char*>(init_reply.iov_base) + offsetof(InitReply, flags);
  std::uint32_t value = 0;
  std::memcpy(&value, flags, sizeof(value));
  value |= kParallelDirectoryOperations;
  std::memcpy(flags, &value, sizeof(value));
}

ssize_t write_reply(int descriptor, iovec* parts, int count, void* userdata) {
  auto& mount = *static_cast<Mount*>(userdata);
  if (!mount.awaits_init_reply.load(std::memory_order_relaxed) || !is_init_reply(parts, count)) {
    return ::writev(descriptor, parts, count);
  }
  mount.awaits_init_reply = false;
  if (mount.has_parallel_directories) complete(parts[1]);
  const ssize_t written = ::writev(descriptor, parts, count);
  if (written >= 0) mount.init_answered();
  return written;
}

ssize_t read_request(int descriptor, void* buffer, std::size_t size, void*) { return ::read(descriptor, buffer, size); }

// Completes libfuse's reply to INIT, the first one of a session, and calls Mount::init_answered after it was sent.
// libfuse before 3.17 never passes on FUSE_PARALLEL_DIROPS. Without it, one waiting LOOKUP blocks its whole directory.
// Call it on a mounted session, before its loop. Returns 0 or a negative errno value.
int watch_init_reply(fuse_session* session) {
  static const fuse_custom_io transport = [] {
    fuse_custom_io io{};
    io.writev = write_reply;
    io.read = read_request;
    return io;
  }();
  return fuse_session_custom_io(session, &transport, fuse_session_fd(session));
}

#else

int watch_init_reply(fuse_session*) { return 0; }

#endif

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

// `mount`: the handlers' context, or null for a session that only mounts.
Session new_session(const SessionOptions& options, Mount* mount) {
  const std::string list = mount_options(options);
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  for (const char* argument : {"recordfs", "-o", list.c_str()}) fuse_opt_add_arg(&args, argument);
  if (options.debug && mount != nullptr) fuse_opt_add_arg(&args, "-d");
  Session session(fuse_session_new(&args, &operations(), sizeof(fuse_lowlevel_ops), mount));
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
  const auto has = [&reason](std::string_view part) { return reason.find(part) != std::string::npos; };
  if (has("fusermount3") && has("No such file")) reason += " (install the package fuse3)";
  return reason.empty() ? "libfuse reported no reason" : reason;
}

// Returns a session that is mounted.
Result<Session> connected_session(const SessionOptions& options, MountHelper& helper, Mount& context) {
  std::string device = options.mountpoint;
  if (helper.is_there()) {
    ASSIGN_OR_RETURN(Descriptor connection, helper.mounted());
    device = fmt::format("/dev/fd/{}", connection.release());
  }
  Session session = new_session(options, &context);
  if (!session || fuse_session_mount(session.get(), device.c_str()) != 0) return failure("libfuse refuses the options");
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

bool store_in_page_cache(fuse_session* session, std::uint64_t number, Bytes bytes) {
  fuse_bufvec buffer = FUSE_BUFVEC_INIT(bytes.size());
  buffer.buf[0].mem = const_cast<std::byte*>(bytes.data());  // only read
  return fuse_lowlevel_notify_store(session, number, 0, &buffer, FUSE_BUF_NO_SPLICE) == 0;
}

bool is_unmounted(fuse_session* session) {
  pollfd asked{fuse_session_fd(session), 0, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & POLLERR) != 0;
}

// What exists while the loop runs, besides the session.
struct Serving {
  Serving(const MountTree& tree, Executor& executor, MountHelper& helper, const SessionEvents& events,
          const SessionOptions& options)
      : dispatcher(executor),
        pusher(tree),
        mount{.tree = tree,
              .dispatcher = dispatcher,
              .pusher = pusher,
              .max_read = options.max_read,
              .has_extended_attributes = options.has_extended_attributes,
              .wants_opendir = options.auto_unmount,
              .init_answered = events.init_answered},
        idle([&helper, &events] {
          const bool unmounted = helper.unmount_if_unused();
          if (!unmounted) events.kept_mounted();
          return unmounted;
        }) {}

  RequestStatistics counts() const {
    return {.by_kind = mount.requests.by_kind(),
            .errors = dispatcher.errors(),
            .pushed_records = pusher.pushed_records(),
            .pushed_bytes = pusher.pushed_bytes()};
  }

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

// Returns what SIGHUP does; null: it ends the mount.
std::function<void()> on_hangup(const SessionOptions& options, const SessionEvents& events, MountHelper& helper) {
  if (events.log_opened) return [&] { events.log_opened(helper.open_log()); };
  if (options.foreground) return {};
  return [] {};
}

// Returns why the mount has ended. REQUIRES: the loop and the signal thread have ended.
std::string reason_of_end(const Result<void>& result, const Signals& signals, const Serving& serving,
                          const SessionOptions& options) {
  if (!result) return result.error().detail;
  switch (signals.ended_by()) {
    case 0: break;
    case SIGHUP: return "SIGHUP";
    case SIGINT: return "SIGINT";
    default: return "SIGTERM";
  }
  if (serving.idle.has_unmounted())
    return fmt::format("no request for {}", recordfs::counted(options.timeout, "second"));
  return "by umount or fusermount3";
}

Signals::Watched watched(Serving& serving, const SessionOptions& options, const SessionEvents& events,
                         MountHelper& helper, EndLimit& end_limit) {
  const auto asked = [&serving] { return serving.mount.requests.asked(); };
  return {.usr1 = [&serving, &events] { events.statistics_requested(serving.statistics()); },
          .hup = on_hangup(options, events, helper),
          .ending =
              [&serving, &end_limit] {
                end_limit.begin();
                serving.pusher.end_stores(kStoresEnd);
              },
          .tick = std::chrono::milliseconds(std::chrono::seconds(options.timeout)) / IdleEnd::kTicks,
          .ticked = [&serving, asked] { serving.idle.tick(asked(), asked); }};
}

}  // namespace

void IdleEnd::tick(std::uint64_t asked, const std::function<std::uint64_t()>& asked_now) {
  if (asked != asked_) {
    asked_ = asked;
    idle_ticks_ = 0;
    return;
  }
  if (++idle_ticks_ < kTicks) return;
  has_unmounted_ = unmount_();
  asked_ = asked_now();
  idle_ticks_ = 0;
}

EndLimit::~EndLimit() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EndLimit::begin() {
  const std::lock_guard lock(mutex_);
  if (!is_over_ && !thread_.joinable()) thread_ = start_thread([this] { run(); });
}

void EndLimit::run() {
  std::unique_lock lock(mutex_);
  if (over_.wait_for(lock, limit_, [this] { return is_over_; })) return;
  lock.unlock();
  overdue_();
}

Result<Descriptor> mount_device(const SessionOptions& options) {
  CapturedStderr captured;
  Session session = new_session(options, nullptr);
  if (!session || fuse_session_mount(session.get(), options.mountpoint.c_str()) != 0)
    return failure(reason_in(captured.end()));
  // Not destroyed, which would unmount, and with auto_unmount close the socket that fusermount3 watches.
  fuse_session* const kept = session.release();
  return Descriptor(fuse_session_fd(kept));
}

Result<void> serve(const MountTree& tree, Executor& executor, const SessionOptions& options, MountHelper& helper,
                   Signals& signals, const SessionEvents& events, FollowThread* follower) {
  Serving serving(tree, executor, helper, events, options);
  const bool has_executors = executor.start() && serving.dispatcher.start();  // while the helper mounts
  const auto connected = connected_session(options, helper, serving.mount);
  if (!connected) {
    executor.stop();
    return connected.error();
  }
  const Session& session = *connected;
  events.mounted();
  // A current directory keeps its filesystem busy.
  if (::chdir("/") != 0) {
    executor.stop();
    return failure("cannot enter the root directory");
  }
  Result<void> result;
  std::mutex helper_mutex;  // held while the helper ends
  EndLimit end_limit(kLongestEnd, [&] {
    if (const std::unique_lock lock(helper_mutex, std::try_to_lock); lock) helper.unmount();
    events.abandoned();
    // First: exit closes files in order, and a close on a hanging source may block.
    ::close(fuse_session_fd(session.get()));
    ::_exit(0);
  });
  const auto store = [&session](std::uint64_t number, Bytes bytes) {
    return store_in_page_cache(session.get(), number, bytes);
  };
  const bool has_threads = has_executors && watch_init_reply(session.get()) == 0 && serving.pusher.start(store) &&
                           signals.watch(session.get(), watched(serving, options, events, helper, end_limit)) &&
                           (follower == nullptr || follower->start(session.get()));
  if (!has_threads) {
    result = failure("cannot create a thread");
  } else {
    events.began([&serving] { return serving.counts(); });
    const bool has_ended = run_loop(session.get(), options) == 0;
    // Without a reply to INIT, libfuse had no thread.
    if (!has_ended && serving.mount.awaits_init_reply) result = failure("cannot create a thread");
    if (!has_ended && !serving.mount.awaits_init_reply) result = failure("lost the connection to the kernel");
  }
  end_limit.begin();
  events.ended();
  signals.stop();
  // Unmounts before joining threads that may wait for a source.
  if (helper.is_there()) {
    if (is_unmounted(session.get())) helper.is_gone();
    const std::lock_guard lock(helper_mutex);
    helper.end();
  } else {
    serving.dispatcher.close();  // replies need the descriptor that unmounting closes
    fuse_session_unmount(session.get());
  }
  events.unmounted(reason_of_end(result, signals, serving, options));
  serving.dispatcher.close();
  executor.stop();
  serving.dispatcher.stop();
  serving.pusher.stop();
  if (follower != nullptr) follower->stop();
  return result;
}

std::string fuse_version() { return fuse_pkgversion(); }

}  // namespace recordfs
