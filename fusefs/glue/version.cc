#include "fusefs/glue/version.h"

#include "fusefs/glue/fuse.h"

namespace recordfs {

std::string fuse_version() { return fuse_pkgversion(); }

}  // namespace recordfs
