// The floor filesystem's replies to the kernel.
#pragma once

#include <atomic>

#include "fusefs/glue/fuse.h"
#include "tests/bench/floorfs/options.h"
#include "tests/bench/floorfs/pusher.h"
#include "tests/bench/floorfs/tree.h"

namespace recordfs::bench {

// The session's user data.
struct Floor {
  const Tree& tree;
  const FloorOptions& options;
  std::atomic<Pusher*> pusher{nullptr};
};

const fuse_lowlevel_ops& floor_operations();

}  // namespace recordfs::bench
