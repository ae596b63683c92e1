// Dispatcher: runs the handler of each request, and sends its reply exactly once, without blocking the thread that
// received it.
//
// A request that waits for a scan holds no thread. If it needs a blocking read or slow work, a thread of its filesystem
// takes it. A filesystem that hangs thus blocks only its own requests.
//
// A request gets EINTR if it is queued, waits or is attempted again when the kernel interrupts it, or when the mount
// ends. Interrupts of READ and OPENDIR are ignored. A refused attempt is repeated with more permission, also if it
// threw std::bad_alloc because of that. Errors become errno values: kNotFound ENOENT, kUnsupported EOPNOTSUPP,
// kInterrupted EINTR, kOutOfMemory and std::bad_alloc ENOMEM, all others EIO; EACCES and ESTALE of a source are kept.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/thrown.h"
#include "core/store/executor.h"
#include "core/store/wait_ticket.h"
#include "fusefs/glue/fuse.h"

namespace recordfs {

class Dispatcher {
  struct Pending;

 public:
  // Sends a reply. Returns what fuse_reply_*() returned: 0, or an error of the connection. Dropped without a call if
  // the request was answered meanwhile.
  using Reply = std::function<int(fuse_req_t request)>;
  // Makes one attempt to answer a request. Fails with kPending and Error::wait set to wait; Dispatcher replies all
  // other errors. May throw, which replies ENOMEM or EIO. Owns its data: other threads may call it later.
  using Handler = std::function<Result<Reply>(const RequestContext& context)>;

  enum class Interrupt : std::uint8_t { kAnswerEintr, kIgnore };

  // `executor` resumes requests. It must outlive what they wait for, and stop before this object is destroyed.
  explicit Dispatcher(Executor& executor) : executor_(executor) {}
  ~Dispatcher() {
    stop();
    close();
  }
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Makes the first attempt on the calling thread, and queues the request while it has to wait. A thread of the
  // executor resumes it. Neither thread blocks (Permission::kNonBlocking). If an attempt is refused more, a thread of
  // the request's filesystem repeats it, in arrival order. With kAnswerEintr, an interrupt of a queued request is
  // answered at once, even during a repeated attempt. Replies ENOMEM if there is no memory to do this. `handler`
  // becomes a Handler only if its request is queued. Thread-safe.
  template <class Function>
  void answer(fuse_req_t request, Interrupt interrupt, const Function& handler) {
    const int thrown = error_thrown_by([&] {
      const Outcome outcome = attempt(RequestContext::Permission::kNonBlocking, nullptr, nullptr, handler);
      if (!outcome.attempt.was_refused() && outcome.reply) {
        (*outcome.reply)(request);
      } else {
        finish(new_pending(request, interrupt, handler), outcome);
      }
    });
    if (thrown != 0) fuse_reply_err(request, thrown);
  }

  // Starts the first thread for slow work. Returns false if the system provides none.
  bool start() { return local_.slow.start(); }
  // Cancels work for requests, and joins the threads for filesystems and slow work. Blocks while a source hangs.
  // REQUIRES: the loop and the executor have stopped.
  void stop();

  // Returns the number of requests that were answered with EIO: their record is damaged, or a read failed. Thread-safe.
  std::uint64_t errors() const { return errors_; }

  // Replies EINTR to all requests that wait, or would wait later. Cancels running attempts without waiting for them.
  // REQUIRES: the loop has stopped, so no interrupt arrives.
  void close();

 private:
  // Two, so that cancelled work blocks only one.
  static constexpr unsigned kSlowThreads = 2;
  // Concurrent reads per filesystem.
  static constexpr unsigned kReadingThreads = 8;
  // Further filesystems share the last one's threads.
  static constexpr std::size_t kMostFilesystems = 16;

  // The threads of one filesystem.
  struct Lane {
    Executor reading{kReadingThreads};  // may block, but do no slow work
    Executor slow{kSlowThreads};
  };
  // The result of an attempt.
  struct Outcome {
    Result<Reply> reply;  // may be incomplete if the attempt was refused
    RequestContext::Attempt attempt;
  };

  std::shared_ptr<Pending> new_pending(fuse_req_t request, Interrupt interrupt, Handler handler);
  // Null: the request cannot be cancelled, or may wait for all filesystems.
  template <class Function>
  static Outcome attempt(RequestContext::Permission permission, const std::atomic<bool>* cancelled,
                         const RequestContext::Filesystems* filesystems, const Function& handler) {
    Outcome outcome{Error{.code = Code::kIo, .detail = "unexpected"}, {}};
    const RequestContext context(permission, outcome.attempt, cancelled, filesystems);
    const int thrown = error_thrown_by([&] { outcome.reply = handler(context); });
    if (thrown == ENOMEM) outcome.reply = out_of_memory("out of memory");
    return outcome;
  }
  void finish(const std::shared_ptr<Pending>& pending, const Outcome& outcome);
  bool hold(const std::shared_ptr<Pending>& pending, const std::shared_ptr<WaitTicket>& ticket);
  Executor& executor_of(RequestContext::Permission permission, std::uint64_t filesystem);
  void queue(const std::shared_ptr<Pending>& pending, RequestContext::Permission permission, std::uint64_t filesystem);
  void attempt_again(const std::shared_ptr<Pending>& pending, RequestContext::Permission permission);
  bool is_waiting(const std::shared_ptr<Pending>& pending);
  void suspend(const std::shared_ptr<Pending>& pending, const std::shared_ptr<WaitTicket>& ticket);
  static void unregister_interrupt(const Pending& pending);
  void resume(const std::shared_ptr<Pending>& pending);
  bool claim(const std::shared_ptr<Pending>& pending);
  static void on_interrupt(fuse_req_t request, void* data);

  Executor& executor_;
  std::atomic<std::uint64_t> errors_{0};
  Lane local_;  // for filesystems that do not hang
  std::mutex lanes_mutex_;
  std::map<std::uint64_t, Lane> lanes_;  // by Source::filesystem()
  std::mutex mutex_;
  std::unordered_map<Pending*, std::shared_ptr<Pending>> waiting_;
  bool stopping_ = false;  // cancels attempts in lanes
  bool closed_ = false;
};

}  // namespace recordfs
