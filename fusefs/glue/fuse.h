// libfuse's low-level interface, in the version that the project uses.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <memory>

namespace recordfs {

struct SessionDeleter {
  void operator()(fuse_session* session) const { fuse_session_destroy(session); }
};
using Session = std::unique_ptr<fuse_session, SessionDeleter>;

struct LoopConfigDeleter {
  void operator()(fuse_loop_config* config) const { fuse_loop_cfg_destroy(config); }
};
using LoopConfig = std::unique_ptr<fuse_loop_config, LoopConfigDeleter>;

}  // namespace recordfs
