#include "fusefs/glue/session.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "fusefs/glue/captured_stderr.h"
#include "fusefs/glue/ending_signals.h"
#include "fusefs/glue/init_reply.h"
#include "fusefs/glue/operations.h"
#include "fusefs/glue/parking.h"

namespace recordfs {
namespace {

// --- options

// A value inside -o: commas and backslashes would end it.
std::string escaped(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (c == ',' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// Without "ro" the kernel invalidates the access time at every read and asks for the attributes again.
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

// What was said on stderr as one line, without the names of those who said it.
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
  return reason.empty() ? "libfuse gives no reason" : reason;
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

}  // namespace

std::string fuse_version() { return fmt::format("libfuse {}", fuse_pkgversion()); }

Result<void> serve(const MountTree& tree, Executor& executor, const SessionOptions& options,
                   const std::function<void()>& in_background, Follower* follower) {
  EndingSignals signals;
  Parking parking(executor);
  Neighbours neighbours(tree);
  Mount context{.tree = tree, .parking = parking, .neighbours = neighbours, .max_read = options.max_read};
  auto session = mounted_session(options, context);
  if (!session) return std::move(session).error();
  Result<void> result;
  if (complete_init_reply(session->get()) != 0 || fuse_daemonize(options.foreground ? 1 : 0) != 0) {
    result = failure("no way to the background");
  } else if (!executor.start() || !neighbours.start(session->get()) || !signals.watch(session->get()) ||
             (follower != nullptr && !follower->start(session->get()))) {
    result = failure("the system gives no thread");
  } else {
    in_background();
    if (run_loop(session->get(), options) != 0) result = failure("the connection to the kernel broke");
  }
  signals.stop();
  executor.stop();
  parking.close();
  neighbours.stop();
  if (follower != nullptr) follower->stop();
  fuse_session_unmount(session->get());
  return result;
}

}  // namespace recordfs
