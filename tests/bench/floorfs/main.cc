// floorfs [options] MOUNTPOINT: the fastest filesystem that FUSE allows, with files of the records' names and sizes,
// served from memory. recordfs is compared with it. Exit status: 0 unmounted, 1 usage error or not mounted.

#include "fusefs/glue/fuse.h"
#include "tests/bench/floorfs/operations.h"
#include "tests/bench/floorfs/options.h"
#include "tests/bench/floorfs/pusher.h"
#include "tests/bench/floorfs/tree.h"

namespace recordfs::bench {
namespace {

Session mounted_session(Floor& floor) {
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  const char* const list = floor.options.read_only ? "ro,nosuid,nodev,noexec,default_permissions,subtype=floorfs"
                                                   : "nosuid,nodev,noexec,default_permissions,subtype=floorfs";
  for (const char* argument : {"floorfs", "-o", list}) fuse_opt_add_arg(&args, argument);
  Session session(fuse_session_new(&args, &floor_operations(), sizeof(fuse_lowlevel_ops), &floor));
  fuse_opt_free_args(&args);
  if (!session || fuse_session_mount(session.get(), floor.options.mountpoint.c_str()) != 0) return nullptr;
  return session;
}

int run_loop(fuse_session* session, const FloorOptions& options) {
  if (options.threads == 0) return fuse_session_loop(session);
  const LoopConfig config(fuse_loop_cfg_create());
  fuse_loop_cfg_set_clone_fd(config.get(), options.clone_fd ? 1 : 0);
  fuse_loop_cfg_set_max_threads(config.get(), options.threads);
  fuse_loop_cfg_set_idle_threads(config.get(), options.threads);
  return fuse_session_loop_mt(session, config.get());
}

int run(const FloorOptions& options) {
  const Tree tree(options.layout, options.kind, options.records);
  Floor floor{.tree = tree, .options = options};
  const Session session = mounted_session(floor);
  if (!session || fuse_set_signal_handlers(session.get()) != 0) return 1;
  if (fuse_daemonize(options.foreground ? 1 : 0) != 0) return 1;
  int status = 0;
  {
    Pusher pusher(tree, session.get(), options.push);
    floor.pusher.store(&pusher, std::memory_order_release);
    status = run_loop(session.get(), options);
    floor.pusher.store(nullptr, std::memory_order_release);
  }
  fuse_remove_signal_handlers(session.get());
  fuse_session_unmount(session.get());
  return status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recordfs::bench

int main(int argc, char** argv) {
  const auto options = recordfs::bench::parse_floor_options(argc, argv);
  return options ? recordfs::bench::run(*options) : 1;
}
