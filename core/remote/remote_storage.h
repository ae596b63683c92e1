// The storage of URLs: http, https, s3, gs, hf.
#pragma once

#include "core/remote/session.h"

namespace recordfs::remote {

// Adds the storages of all schemes. Costs nothing as long as no URL is named. Call it once, before the process has
// threads and makes Locations.
void add_remote_storages(Host host);

}  // namespace recordfs::remote
