#include "fusefs/glue/dispatcher.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

namespace recordfs {

// A request between two attempts. The thread that removes it from waiting_ has to answer it.
struct Dispatcher::Pending {
  Pending(Dispatcher* all, fuse_req_t waiting, Interrupt on_interrupt, Handler again)
      : requests(all), request(waiting), interrupt(on_interrupt), handler(std::move(again)) {}

  Dispatcher* requests;
  fuse_req_t request;
  Interrupt interrupt;
  Handler handler;
  // The filesystems whose lanes it was in, and that an attempt may wait for. Only a refusal for another one changes the
  // lane, so it makes progress.
  RequestContext::Filesystems filesystems;
  std::shared_ptr<WaitTicket> ticket;  // null while it is in a lane
  std::atomic<std::uint64_t> wait_id{0};
  std::atomic<bool> cancelled{false};  // stops an attempt in a lane
  bool is_pending = false;             // was in waiting_; only the queueing thread reads it
  bool interrupted = false;            // while it was not in waiting_; guarded by mutex_
};

namespace {

// Returns whether the reply repeats the source's errno. All other read errors are EIO.
bool is_passed_on(int os_error) { return os_error == EACCES || os_error == ESTALE || os_error == EFBIG; }

// Returns the errno value for a reply. No other function converts errors to errno values.
int error_number(const Error& error) {
  switch (error.code) {
    case Code::kNotFound: return ENOENT;
    case Code::kUnsupported: return EOPNOTSUPP;
    case Code::kInterrupted: return EINTR;
    case Code::kOutOfMemory: return ENOMEM;
    case Code::kPending: return EAGAIN;
    case Code::kUnreadable:
    case Code::kDamage:
    case Code::kUnfinished:
    case Code::kStale:
    case Code::kLimit:
    case Code::kNoContainer:
    case Code::kChanged: return EIO;
    case Code::kIo: return is_passed_on(error.os_error) ? error.os_error : EIO;
  }
  return EIO;
}

}  // namespace

std::shared_ptr<Dispatcher::Pending> Dispatcher::new_pending(fuse_req_t request, Interrupt interrupt, Handler handler) {
  return std::make_shared<Pending>(this, request, interrupt, std::move(handler));
}

// Ends an attempt at a claimed request: replies, queues or suspends. Does not throw, because the request would get no
// reply.
void Dispatcher::finish(const std::shared_ptr<Pending>& pending, const Outcome& outcome) {
  pending->is_pending = false;
  const int thrown = error_thrown_by([&] {
    if (const auto& attempt = outcome.attempt; attempt.was_refused()) {
      return queue(pending, attempt.refused, attempt.filesystem);
    }
    if (outcome.reply) {
      (*outcome.reply)(pending->request);
    } else if (recordfs::is_waiting(outcome.reply.error())) {
      suspend(pending, outcome.reply.error().wait);
    } else {
      const int number = error_number(outcome.reply.error());
      if (number == EIO) ++errors_;
      fuse_reply_err(pending->request, number);
    }
  });
  if (thrown == 0 || (pending->is_pending && !claim(pending))) return;
  unregister_interrupt(*pending);
  fuse_reply_err(pending->request, thrown);
}

// Puts the request into waiting_. Returns false if it was answered instead.
bool Dispatcher::hold(const std::shared_ptr<Pending>& pending, const std::shared_ptr<WaitTicket>& ticket) {
  // First, since another thread may answer the request, and so free it, as soon as it is in waiting_.
  if (pending->interrupt == Interrupt::kAnswerEintr) {
    fuse_req_interrupt_func(pending->request, on_interrupt, pending.get());
  }
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && !pending->interrupted) {
      waiting_.emplace(pending.get(), pending);
      pending->is_pending = true;
      pending->ticket = ticket;
      pending->cancelled = stopping_;
      return true;
    }
  }
  unregister_interrupt(*pending);
  fuse_reply_err(pending->request, EINTR);
  return false;
}

void Dispatcher::suspend(const std::shared_ptr<Pending>& pending, const std::shared_ptr<WaitTicket>& ticket) {
  // Allocate before hold(): another thread may own the request afterwards.
  Executor::Task task([this, pending] { resume(pending); });
  if (!hold(pending, ticket)) return;
  // May run after this object is destroyed. The executor then takes no task.
  const auto shared_task = std::make_shared<Executor::Task>(std::move(task));
  const std::function<void()> go_on = [shared_task, &executor = executor_] {
    executor.post(Executor::Priority::kWaitedFor, std::move(*shared_task));
  };
  const std::uint64_t wait_id = ticket->waitable->wait(*ticket, go_on);
  pending->wait_id = wait_id;
  if (wait_id == 0) {
    go_on();
  } else if (!is_waiting(pending)) {
    // An interrupt, or close(), may have answered the request before it had the number to cancel.
    ticket->waitable->cancel(wait_id);
  }
}

// Returns the executor for such work, or the one for slow local work if the system provides no thread.
Executor& Dispatcher::executor_of(RequestContext::Permission permission, std::uint64_t filesystem) {
  Lane* lane = &local_;
  if (filesystem != 0) {
    const std::lock_guard lock(lanes_mutex_);
    const auto found = lanes_.find(filesystem);
    const bool is_new = found == lanes_.end() && lanes_.size() < kMostFilesystems;
    lane = found != lanes_.end() ? &found->second : is_new ? &lanes_[filesystem] : &lanes_.rbegin()->second;
  }
  Executor& executor = permission == RequestContext::Permission::kMayBlock ? lane->reading : lane->slow;
  return executor.start() ? executor : local_.slow;
}

void Dispatcher::queue(const std::shared_ptr<Pending>& pending, RequestContext::Permission permission,
                       std::uint64_t filesystem) {
  if (filesystem != 0 && std::ranges::find(pending->filesystems, filesystem) == pending->filesystems.end()) {
    pending->filesystems.push_back(filesystem);
  }
  Executor& executor = executor_of(permission, filesystem);
  Executor::Task task([this, pending, permission] { attempt_again(pending, permission); });
  if (!hold(pending, {})) return;
  if (executor.post(Executor::Priority::kWaitedFor, std::move(task)) || !claim(pending)) return;
  unregister_interrupt(*pending);
  fuse_reply_err(pending->request, EINTR);
}

// An interrupt can answer the request until it is claimed here, or until it is queued again.
void Dispatcher::attempt_again(const std::shared_ptr<Pending>& pending, RequestContext::Permission permission) {
  if (!is_waiting(pending)) return;
  const Outcome outcome = attempt(permission, &pending->cancelled, &pending->filesystems, pending->handler);
  if (!claim(pending)) return;
  unregister_interrupt(*pending);
  finish(pending, outcome);
}

bool Dispatcher::is_waiting(const std::shared_ptr<Pending>& pending) {
  const std::lock_guard lock(mutex_);
  return waiting_.contains(pending.get());
}

// Waits for a running interrupt function and unregisters it.
void Dispatcher::unregister_interrupt(const Pending& pending) {
  if (pending.interrupt == Interrupt::kAnswerEintr) fuse_req_interrupt_func(pending.request, nullptr, nullptr);
}

bool Dispatcher::claim(const std::shared_ptr<Pending>& pending) {
  const std::lock_guard lock(mutex_);
  return waiting_.erase(pending.get()) > 0;
}

void Dispatcher::resume(const std::shared_ptr<Pending>& pending) {
  if (!claim(pending)) return;
  unregister_interrupt(*pending);
  finish(pending, attempt(RequestContext::Permission::kNonBlocking, nullptr, nullptr, pending->handler));
}

// libfuse calls this on the loop's thread, or during the registration if the interrupt arrived before. It uses the
// request afterwards, so a request that is being registered must not be answered here: it is not in waiting_ yet.
void Dispatcher::on_interrupt(fuse_req_t request, void* data) {
  auto* raw = static_cast<Pending*>(data);
  std::shared_ptr<Pending> pending;
  Dispatcher* requests = raw->requests;
  {
    const std::lock_guard lock(requests->mutex_);
    const auto found = requests->waiting_.find(raw);
    if (found == requests->waiting_.end()) {
      raw->interrupted = true;
      return;
    }
    pending = std::move(found->second);
    requests->waiting_.erase(found);
  }
  pending->cancelled = true;
  if (pending->ticket != nullptr) pending->ticket->waitable->cancel(pending->wait_id);
  fuse_reply_err(request, EINTR);
}

void Dispatcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [raw, pending] : waiting_) raw->cancelled = true;
  }
  std::array<Lane*, kMostFilesystems + 1> all{&local_};  // allocates nothing, since destructors call this
  std::size_t count = 1;
  {
    const std::lock_guard lock(lanes_mutex_);
    for (auto& [filesystem, lane] : lanes_) all[count++] = &lane;
  }
  const auto lanes = std::span(all).first(count);
  for (Lane* lane : lanes) lane->reading.stop();
  for (Lane* lane : lanes) lane->slow.stop();
}

void Dispatcher::close() {
  std::unordered_map<Pending*, std::shared_ptr<Pending>> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    left.swap(waiting_);
  }
  for (const auto& [raw, pending] : left) {
    fuse_reply_err(pending->request, EINTR);
    pending->cancelled = true;
    pending->ticket.reset();  // breaks the cycle: the waitable holds its waiters
  }
}

}  // namespace recordfs
