// The client's end of the connection to its fetcher.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/remote/arena.h"
#include "core/remote/protocol.h"

namespace recordfs::remote {

// Thread-safe. Has no thread: of the threads that wait for replies, one at a time receives those of all. So it can be
// used before and after a process is confined, and by a process that its owner forks and that takes its place.
class Fetcher : public std::enable_shared_from_this<Fetcher> {
 public:
  // Takes the reply to a request, or why there is none, and the bytes of the arena that the reply has filled. They can
  // change at any time, and are valid as long as their owner is. Called once, by any thread that waits for a reply.
  // Must not throw.
  using TakeReply = std::function<void(Result<Reply> reply, Slice bytes)>;

  // A request. Others than Fetcher only hold it.
  class Call {
    friend class Fetcher;
    std::uint64_t id = 0;
    std::uint64_t arena = 0;
    std::uint64_t size = 0;
    TakeReply take;
    bool is_done = false;  // guarded by mutex_ of the fetcher
  };
  using CallPtr = std::shared_ptr<Call>;

  enum class WhenFull : std::uint8_t {
    kWait,
    kGiveUp,  // send() returns null
  };

  // Starts the program. Fails with kIo. `kept`: as for Arena::make().
  static Result<std::shared_ptr<Fetcher>> start(const std::vector<std::string>& options,
                                                std::chrono::milliseconds patience, std::uint64_t kept);
  // Speaks over a connected socket. `patience`: a request fails when nothing has come from the fetcher for this time.
  // Must be owned by a std::shared_ptr.
  Fetcher(Descriptor socket, std::unique_ptr<Arena> arena, std::chrono::milliseconds patience, pid_t process = 0);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Sends a request, whose `id` and `arena` this fills in. Waits until the arena has room for `request.size` bytes.
  // Fails with kIo if the fetcher has ended, and with kInterrupted. If it fails, `take` is not called.
  Result<CallPtr> send(const RequestContext& context, Request request, TakeReply take,
                       WhenFull when_full = WhenFull::kWait);
  // Waits until `take` of the call has returned. Fails with kInterrupted if the request of the context was cancelled,
  // and with kIo if the fetcher does not answer in time.
  Result<void> wait(const RequestContext& context, const Call& call);
  // Asks for a reply soon.
  void cancel(const Call& call);

  // Sends a request without bytes, and waits for the reply. Fails like send() and wait(), and with the reply's failure.
  Result<Reply> ask(const RequestContext& context, Request request);
  // The same for a request whose reply has bytes, which `take` copies.
  Result<Reply> ask(const RequestContext& context, Request request, const std::function<void(Bytes)>& take);
  // Sends a request that has no reply.
  void tell(Request request);

  // Returns whether bytes may stay in the arena after `take` has returned: requests still have room enough.
  bool has_spare_room() const;
  // Returns how many bytes more may stay in the arena.
  std::uint64_t spare_room() const;

  // Returns whether the fetcher has ended, or has sent what is no reply; then all requests fail.
  bool has_ended() const { return has_ended_.load(std::memory_order_relaxed); }
  // Returns what the fetcher has done, as of its last reply.
  Traffic traffic() const;

  // Makes the object of a forked child unusable, which then does not use its parent's socket. For the child of a
  // process with threads: takes no lock.
  void abandon();

 private:
  using Lock = std::unique_lock<std::mutex>;

  // Bytes of the arena that a reply has filled. Gives them back.
  struct Filled;

  template <class Condition>
  Result<void> wait_until(const RequestContext& context, Lock& lock, const Condition& is_over);
  Result<void> transmit(const RequestContext& context, Lock& lock, const Request& request);
  void tell_all();  // REQUIRES: mutex_ is held
  // Receives a message, or waits for one.
  void receive(std::chrono::milliseconds most);
  void take_packet(Bytes packet);
  void give_back(const Call& call);
  void end(std::string_view why);
  Error ended() const;

  const std::unique_ptr<Arena> arena_;
  const std::chrono::milliseconds patience_;
  const pid_t process_;  // 0: none to wait for
  std::atomic<bool> has_ended_{false};

  mutable std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  Descriptor socket_;
  std::map<std::uint64_t, CallPtr> calls_;  // without a reply yet, by id
  std::deque<std::string> untold_;          // packets of tell()
  std::uint64_t last_id_ = 0;
  std::chrono::steady_clock::time_point heard_{};  // when the last message came
  bool is_receiving_ = false;                      // a thread is
  Traffic traffic_;
  std::string why_ended_;
};

// Returns the error that a reply reports. REQUIRES: it reports one.
Error error_of(const Reply& reply);

}  // namespace recordfs::remote
