#include "fusefs/remote_traffic.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/remote/session.h"

namespace recordfs {

std::string remote_traffic_text() {
  const remote::Traffic traffic = remote::Session::of_process().traffic();
  return fmt::format("servers: {}, {} repeated; {} bytes; {} found on the disk", counted(traffic.requests, "request"),
                     traffic.retries, traffic.bytes, counted(traffic.cache_hits, "block"));
}

}  // namespace recordfs
