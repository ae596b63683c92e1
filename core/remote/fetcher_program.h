// Finds and starts the program recordfs-fetch.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs::remote {

struct FetcherProcess {
  pid_t id = 0;
  Descriptor socket;
};

// Starts the program, with a socket and the memory file `arena`. It is $RECORDFS_FETCH, or beside this program or
// module, or where it is installed. Fails with kIo if it cannot be started, also because the thread is confined.
// Thread-safe.
Result<FetcherProcess> start_fetcher(int arena, const std::vector<std::string>& options);

// Returns whether start_fetcher() finds a program. Thread-safe.
bool has_fetcher();

}  // namespace recordfs::remote
