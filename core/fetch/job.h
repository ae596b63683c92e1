// The requests of the client that take time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/fetch/block_writer.h"
#include "core/fetch/disk_cache.h"
#include "core/fetch/exchange.h"
#include "core/fetch/list_task.h"
#include "core/fetch/object.h"
#include "core/fetch/transfer.h"
#include "core/fetch/url_names.h"
#include "core/remote/protocol.h"

namespace recordfs::fetch {

// What all jobs share.
struct JobContext {
  Network& network;
  UrlNames& names;
  BlockWriter& writer;
  DiskCache* cache = nullptr;  // null: none
  MutableBytes arena{};
  std::chrono::milliseconds timeout{60'000};

  std::map<std::uint64_t, std::shared_ptr<Object>> objects{};  // that are open
  std::uint64_t last_object = 0;
  std::uint64_t retries = 0;
  std::uint64_t cache_hits = 0;

  // The page of a directory that was read last, in parts if it has more entries than fit in one reply.
  std::string listed_url{};
  std::string listed_page{};
  Origin::Page listed{};

  int spool_folder() const { return cache == nullptr ? -1 : cache->folder(); }
};

// Not thread-safe.
class Job {
 public:
  virtual ~Job() = default;
  // Does what is due. Returns the reply when there is one. Otherwise sets `wake` to when to call it again; also call it
  // after Network::run().
  virtual std::optional<remote::Reply> advance(Clock::time_point now, Clock::time_point& wake) = 0;
};

// Returns the job for a kOpen, kRead, kStatus or kList, whose arena part was checked. The context must outlive it.
// Fails as the names do, and with kIo (EBADF, EINVAL) if the request refers to nothing.
Result<std::unique_ptr<Job>> job_for(const remote::Request& request, JobContext& context);

// Returns the reply of a failed request.
remote::Reply failure_reply(const Error& error);

}  // namespace recordfs::fetch
