#include "fusefs/glue/parking.h"

#include <atomic>
#include <cerrno>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "fusefs/glue/error_number.h"

namespace recordfs {

// A request between two tries. Whoever takes it out of Parking::waiting_ has to answer it.
struct Parking::Parked {
  Parked(Parking* lot, fuse_req_t waiting, Interrupt on_interrupt, Attempt again)
      : parking(lot), request(waiting), interrupt(on_interrupt), attempt(std::move(again)) {}

  Parking* parking;
  fuse_req_t request;
  Interrupt interrupt;
  Attempt attempt;
  Awaited* awaited = nullptr;
  std::shared_ptr<const void> keeper;  // of what is awaited
  std::atomic<std::uint64_t> ticket{0};
  bool is_parked = false;    // has been, in this wait: read by the thread that parks it
  bool interrupted = false;  // while its interrupt function was being registered
};

namespace {

// The request whose interrupt function this thread is registering. Where the interrupt was there first, libfuse
// calls the function within the registration and goes on using the request, which must not be answered then.
thread_local const void* being_registered = nullptr;

Result<void> attempt_once(const Parking::Attempt& attempt, Goal& goal) {
  try {
    return attempt(goal);
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kOutOfMemory, .detail = "out of memory"};
  } catch (const std::exception&) {
    return Error{.code = Code::kIo, .detail = "unexpected"};
  }
}

}  // namespace

void Parking::answer(fuse_req_t request, Interrupt interrupt, Attempt attempt) {
  Goal goal;
  const auto tried = attempt_once(attempt, goal);
  if (tried) return;
  if (tried.error().code != Code::kPending) {
    fuse_reply_err(request, error_number(tried.error()));
    return;
  }
  std::shared_ptr<Parked> parked;
  try {
    parked = std::make_shared<Parked>(this, request, interrupt, std::move(attempt));
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);
    return;
  }
  wait(parked, goal);
}

// Throws nothing: nobody behind it would answer the request.
void Parking::wait(const std::shared_ptr<Parked>& parked, const Goal& goal) {
  try {
    park(parked, goal);
  } catch (const std::bad_alloc&) {
    if (parked->is_parked && !claim(parked)) return;
    keep_off(*parked);
    fuse_reply_err(parked->request, ENOMEM);
  }
}

void Parking::park(const std::shared_ptr<Parked>& parked, const Goal& goal) {
  parked->is_parked = false;
  // What needs memory comes before the request is somebody else's.
  Executor::Task task([this, parked] { resume(parked); });
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      fuse_reply_err(parked->request, EINTR);
      return;
    }
    waiting_.emplace(parked.get(), parked);
    parked->is_parked = true;
    parked->awaited = goal.awaited;
    parked->keeper = goal.keeper;
  }
  // From here on an interrupt may answer the request at any moment: only claim() gives it back.
  if (parked->interrupt == Interrupt::kAnswerEintr && was_interrupted(*parked)) {
    if (claim(parked)) fuse_reply_err(parked->request, EINTR);
    return;
  }
  // It may be called when the parking is gone already: the executor then takes no task.
  const auto shared_task = std::make_shared<Executor::Task>(std::move(task));
  const std::function<void()> go_on = [shared_task, &executor = executor_] {
    executor.post(Executor::Priority::kWaitedFor, std::move(*shared_task));
  };
  const std::uint64_t ticket = goal.awaited->wait(goal, go_on);
  parked->ticket = ticket;
  if (ticket == 0) go_on();
}

// Waits for an interrupt function that runs now, and keeps later ones off the object.
void Parking::keep_off(const Parked& parked) {
  if (parked.interrupt == Interrupt::kAnswerEintr) fuse_req_interrupt_func(parked.request, nullptr, nullptr);
}

// Registers the interrupt function; true when the interrupt is there already and the caller has to answer it.
bool Parking::was_interrupted(Parked& parked) {
  being_registered = &parked;
  fuse_req_interrupt_func(parked.request, on_interrupt, &parked);
  being_registered = nullptr;
  return parked.interrupted;
}

bool Parking::claim(const std::shared_ptr<Parked>& parked) {
  const std::lock_guard lock(mutex_);
  return waiting_.erase(parked.get()) > 0;
}

void Parking::resume(const std::shared_ptr<Parked>& parked) {
  if (!claim(parked)) return;
  keep_off(*parked);
  Goal goal;
  const auto tried = attempt_once(parked->attempt, goal);
  if (tried) return;
  if (tried.error().code == Code::kPending) {
    wait(parked, goal);
  } else {
    fuse_reply_err(parked->request, error_number(tried.error()));
  }
}

void Parking::on_interrupt(fuse_req_t request, void* data) {
  auto* raw = static_cast<Parked*>(data);
  if (raw == being_registered) {
    raw->interrupted = true;
    return;
  }
  std::shared_ptr<Parked> parked;
  Parking* parking = raw->parking;
  {
    const std::lock_guard lock(parking->mutex_);
    const auto found = parking->waiting_.find(raw);
    if (found == parking->waiting_.end()) return;
    parked = std::move(found->second);
    parking->waiting_.erase(found);
  }
  parked->awaited->cancel(parked->ticket);
  fuse_reply_err(request, EINTR);
}

void Parking::close() {
  std::unordered_map<Parked*, std::shared_ptr<Parked>> left;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    left.swap(waiting_);
  }
  for (const auto& [raw, parked] : left) {
    fuse_reply_err(parked->request, EINTR);
    parked->keeper.reset();  // what is awaited holds who waits for it, and would keep itself
  }
}

}  // namespace recordfs
