// A separate file, because the kernel's header and libfuse's define the same names.
#if __has_include(<linux/fuse.h>)
#include <linux/fuse.h>
#endif

#include <fmt/format.h>

#include "fusefs/glue/version.h"

namespace recordfs {

std::string protocol_version() {
#ifdef FUSE_KERNEL_VERSION
  return fmt::format("{}.{}", FUSE_KERNEL_VERSION, FUSE_KERNEL_MINOR_VERSION);
#else
  return {};
#endif
}

}  // namespace recordfs
