// PendingRequests: requests that do not hold the thread that they came with. Those that wait for a catalog hold no
// thread. Those that wait for a filesystem, or are slow, share the few threads of that filesystem.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/store/executor.h"
#include "core/store/wait_ticket.h"
#include "fusefs/glue/fuse.h"

namespace recordfs {

class PendingRequests {
  struct Pending;

 public:
  // One attempt to answer a request.
  class Attempt {
   public:
    WaitTicket ticket;

    // Asked directly before the reply, once. False: there is nobody any more to whom to reply, or what would be replied
    // lacks what was refused to this thread; nothing is to be done with the request.
    bool claim_reply();

   private:
    friend class PendingRequests;
    const std::shared_ptr<Pending>* pending_ = nullptr;  // where an interrupt can still answer it
  };
  // Success when it has replied, or may not; kPending with the ticket set when it has to wait, any other error to be
  // replied. It may throw. It may be called again, by another thread, when the caller has returned: it holds what it
  // needs.
  using Handler = std::function<Result<void>(Attempt& attempt)>;

  enum class Interrupt : std::uint8_t { kAnswerEintr, kIgnore };

  // Pending requests are tried again on `executor`, which has to outlive what is waited for and to
  // stop before this object goes.
  explicit PendingRequests(Executor& executor) : executor_(executor) {}
  ~PendingRequests() {
    stop();
    close();
  }
  PendingRequests(const PendingRequests&) = delete;
  PendingRequests& operator=(const PendingRequests&) = delete;

  // Tries to answer `request`, and queues it as often as it has to wait. The calling thread and the executor's may do
  // RequestContext::Work::kNonBlocking only. If an attempt was refused more, another thread of the request's filesystem
  // repeats it, in the order in which the requests came. Replies exactly once, and at once if the request is
  // interrupted meanwhile. Any thread.
  void answer(fuse_req_t request, Interrupt interrupt, Handler handler);

  // Starts the first thread for slow work. False: the system gives none.
  bool start() { return local_.slow.start(); }
  // Gives up the work of the threads for filesystems and slow work, and ends them. Waits for those that a filesystem
  // holds up. REQUIRES: the loop and the executor have stopped.
  void stop();

  // Answers everything that waits with EINTR and queues nothing from now on. What still runs for such a request is
  // given up. REQUIRES: the loop has stopped, so nothing is interrupted any more.
  void close();

 private:
  // One thread goes on while the other is busy with what its reader has lost patience with.
  static constexpr unsigned kSlowThreads = 2;
  // So many requests read from one filesystem at the same time.
  static constexpr unsigned kReadingThreads = 8;
  // Filesystems beyond these share the last one's threads.
  static constexpr std::size_t kMostFilesystems = 16;

  // The threads of one filesystem. If it hangs, the others have theirs.
  struct Lane {
    Executor reading{kReadingThreads};  // they may block, and do nothing slow
    Executor slow{kSlowThreads};
  };
  // The outcome of an attempt.
  struct Outcome {
    Result<void> result;
    RequestContext::Work refused = RequestContext::Work::kNonBlocking;  // as RequestContext::refused()
    std::uint64_t filesystem = 0;                                       // of the request
  };

  static Outcome attempt_as(RequestContext::Work work, const Pending* pending, const Handler& handler,
                            Attempt& attempt);
  void pass_on(const std::shared_ptr<Pending>& pending, Attempt& attempt, const Outcome& outcome);
  bool hold(const std::shared_ptr<Pending>& pending, const WaitTicket& ticket);
  Executor& executor_of(RequestContext::Work work, std::uint64_t filesystem);
  void queue(const std::shared_ptr<Pending>& pending, RequestContext::Work work, std::uint64_t filesystem);
  void attempt_again(const std::shared_ptr<Pending>& pending, RequestContext::Work work);
  bool is_waiting(const std::shared_ptr<Pending>& pending);
  void suspend(const std::shared_ptr<Pending>& pending, const WaitTicket& ticket);
  static void keep_off(const Pending& pending);
  void resume(const std::shared_ptr<Pending>& pending);
  bool claim(const std::shared_ptr<Pending>& pending);
  static bool was_interrupted(Pending& pending);
  static void on_interrupt(fuse_req_t request, void* data);

  Executor& executor_;
  Lane local_;  // of filesystems that do not hang
  std::mutex lanes_mutex_;
  std::map<std::uint64_t, Lane> lanes_;  // of the others, by Source::filesystem()
  std::mutex mutex_;
  std::unordered_map<Pending*, std::shared_ptr<Pending>> waiting_;
  bool stopping_ = false;  // what the lanes do is given up
  bool closed_ = false;
};

}  // namespace recordfs
