// What was transferred for remote files.
#pragma once

#include <string>

namespace recordfs {

// Returns a line about what the fetcher of this process has done: requests, bytes, blocks found on the disk.
std::string remote_traffic_text();

}  // namespace recordfs
