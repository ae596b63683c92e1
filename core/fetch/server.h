// The fetcher's side of the socket: takes requests and sends replies.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/fetch/job.h"
#include "core/fetch/transfer.h"
#include "core/fetch/url_names.h"
#include "core/remote/protocol.h"

namespace recordfs::fetch {

// Not thread-safe.
class Server {
 public:
  // The socket is a SOCK_SEQPACKET. `context` and what it refers to must outlive the server.
  Server(Descriptor socket, JobContext& context) : socket_(std::move(socket)), context_(context) {}

  // Serves requests until the client has closed the socket, or sends what is no request.
  void run();

 private:
  static constexpr std::size_t kMostJobs = 4096;
  static constexpr std::size_t kMostUnsent = 4 * kMostJobs;

  // Returns false if the client is gone.
  bool receive();
  bool send();
  void take(const remote::Request& request);
  void take_name(const remote::Request& request);
  void start(const remote::Request& request);
  void map_memory(const remote::Request& request);
  void cancel(std::uint64_t id);
  // Lets all jobs do what is due. Returns when to do so again.
  Clock::time_point advance_jobs();
  void reply(std::uint64_t id, remote::Reply reply);
  // Says that the fetcher is at work, if it is and has not said anything for long. Returns when to do so again.
  Clock::time_point break_silence();

  Descriptor socket_;
  JobContext& context_;
  std::map<std::uint64_t, std::unique_ptr<Job>> jobs_;  // by the id of the request
  std::deque<std::string> unsent_;
  std::vector<bool> is_mapped_;  // units of the arena
  Clock::time_point replied_ = Clock::now();
};

}  // namespace recordfs::fetch
