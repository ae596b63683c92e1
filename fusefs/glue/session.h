// A mount from its beginning to its end: session, signals, background, loop.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/executor.h"
#include "fusefs/glue/follower.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

struct SessionOptions {
  std::string mountpoint;
  std::string fsname;
  bool foreground = false;
  bool debug = false;  // libfuse's trace of every request, on stderr
  bool single_threaded = false;
  unsigned threads = 8;
  unsigned max_read = 0;  // bytes that the kernel asks for at once; 0: as many as it likes
  bool allow_other = false;
  std::vector<std::string> passed_on;  // further options for libfuse and the kernel, as they were given
};

// Mounts `tree` and serves it until it is unmounted or a signal asks for the end. `in_background` is called
// when the process has gone to the background, before the first request. `follower` follows the tree's files
// meanwhile; null: none is. Fails with kIo when the mount never stood, or
// did not end well; then the reason is libfuse's, or fusermount3's.
Result<void> serve(const MountTree& tree, Executor& executor, const SessionOptions& options,
                   const std::function<void()>& in_background, Follower* follower = nullptr);

// The version of libfuse that runs, for --version.
std::string fuse_version();

}  // namespace recordfs
