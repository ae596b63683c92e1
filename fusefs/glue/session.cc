#include "fusefs/glue/session.h"

#include <memory>

#include <fmt/format.h>

#include "fusefs/glue/init_reply.h"
#include "fusefs/glue/operations.h"
#include "fusefs/glue/parking.h"

namespace recordfs {
namespace {

struct SessionDeleter {
  void operator()(fuse_session* session) const { fuse_session_destroy(session); }
};
using Session = std::unique_ptr<fuse_session, SessionDeleter>;

struct LoopConfigDeleter {
  void operator()(fuse_loop_config* config) const { fuse_loop_cfg_destroy(config); }
};

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

int run_loop(fuse_session* session, const SessionOptions& options) {
  if (options.single_threaded) return fuse_session_loop(session);
  const std::unique_ptr<fuse_loop_config, LoopConfigDeleter> config(fuse_loop_cfg_create());
  fuse_loop_cfg_set_clone_fd(config.get(), 1);
  fuse_loop_cfg_set_max_threads(config.get(), options.threads);
  fuse_loop_cfg_set_idle_threads(config.get(), options.threads);
  return fuse_session_loop_mt(session, config.get());
}

}  // namespace

std::string fuse_version() { return fmt::format("libfuse {}", fuse_pkgversion()); }

int serve(const MountTree& tree, Executor& executor, const SessionOptions& options,
          const std::function<void()>& in_background) {
  Parking parking(executor);
  Mount mount{.tree = tree, .parking = parking, .max_read = options.max_read};
  const Session session = new_session(options, mount);
  if (!session || fuse_set_signal_handlers(session.get()) != 0) return kExitCannotMount;
  int status = kExitCannotMount;
  if (fuse_session_mount(session.get(), options.mountpoint.c_str()) == 0) {
    const bool ready = complete_init_reply(session.get()) == 0 && fuse_daemonize(options.foreground ? 1 : 0) == 0;
    if (ready) {
      in_background();
      // A signal that asked for the end is a good end.
      status = run_loop(session.get(), options) < 0 ? kExitCannotMount : 0;
    }
    executor.stop();
    parking.close();
    fuse_session_unmount(session.get());
  }
  fuse_remove_signal_handlers(session.get());
  return status;
}

}  // namespace recordfs
