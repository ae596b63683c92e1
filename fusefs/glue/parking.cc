#include "fusefs/glue/parking.h"

#include <algorithm>
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
  // Those whose lanes it was in. It may wait for all of them: it has got past the earlier ones, and only a refusal
  // for a new one puts it in another lane, so it makes progress.
  Caller::Filesystems filesystems;
  Awaited* awaited = nullptr;          // null while it is in a lane
  std::shared_ptr<const void> keeper;  // of what is awaited
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<bool> gave_up{false};  // its sender, while it is in a lane
  bool is_parked = false;            // has been, in this wait: read by the thread that parks it
  bool interrupted = false;          // while its interrupt function was being registered
};

namespace {

// The request whose interrupt function this thread is registering. Where the interrupt was there first, libfuse
// calls the function within the registration and goes on using the request, which must not be answered then.
thread_local const void* being_registered = nullptr;

Result<void> attempt_once(const Parking::Attempt& attempt, Parking::Try& once) {
  try {
    return attempt(once);
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kOutOfMemory, .detail = "out of memory"};
  } catch (const std::exception&) {
    return Error{.code = Code::kIo, .detail = "unexpected"};
  }
}

}  // namespace

bool Parking::Try::may_reply() {
  if (Caller::was_refused()) return false;
  if (parked_ == nullptr) return true;
  Parking& parking = *(*parked_)->parking;
  if (!parking.claim(*parked_)) return false;
  keep_off(**parked_);
  return true;
}

// `parked`: the request, in a lane; null for a quick attempt.
Parking::Tried Parking::attempt_as(Caller::Work work, const Parked* parked, const Attempt& attempt, Try& once) {
  const Caller caller(work, parked == nullptr ? nullptr : &parked->gave_up,
                      parked == nullptr ? nullptr : &parked->filesystems);
  auto result = attempt_once(attempt, once);
  return {std::move(result), Caller::refused(), Caller::filesystem()};
}

void Parking::answer(fuse_req_t request, Interrupt interrupt, Attempt attempt) {
  Try once;
  const Tried tried = attempt_as(Caller::Work::kQuick, nullptr, attempt, once);
  const bool was_refused = tried.refused != Caller::Work::kQuick;
  if (tried.result && !was_refused) return;
  if (!was_refused && tried.result.error().code != Code::kPending) {
    fuse_reply_err(request, error_number(tried.result.error()));
    return;
  }
  std::shared_ptr<Parked> parked;
  try {
    parked = std::make_shared<Parked>(this, request, interrupt, std::move(attempt));
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);
    return;
  }
  pass_on(parked, once, tried);
}

// What becomes of a request that is nobody else's after a try that has not replied. Throws nothing: nobody behind it
// would answer the request.
void Parking::pass_on(const std::shared_ptr<Parked>& parked, Try& once, const Tried& tried) {
  try {
    if (tried.refused != Caller::Work::kQuick) return queue(parked, tried.refused, tried.filesystem);
    const Error& error = tried.result.error();
    if (error.code == Code::kPending && once.goal.awaited != nullptr) return park(parked, once.goal);
    fuse_reply_err(parked->request, error_number(error));
  } catch (const std::bad_alloc&) {
    if (parked->is_parked && !claim(parked)) return;
    keep_off(*parked);
    fuse_reply_err(parked->request, ENOMEM);
  }
}

// Gives the request to whoever claims it first. False: it is answered already.
bool Parking::hold(const std::shared_ptr<Parked>& parked, const Goal& goal) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      fuse_reply_err(parked->request, EINTR);
      return false;
    }
    waiting_.emplace(parked.get(), parked);
    parked->is_parked = true;
    parked->awaited = goal.awaited;
    parked->keeper = goal.keeper;
    parked->gave_up = stopping_;
  }
  // From here on an interrupt may answer the request at any moment: only claim() gives it back.
  if (parked->interrupt != Interrupt::kAnswerEintr || !was_interrupted(*parked)) return true;
  if (claim(parked)) fuse_reply_err(parked->request, EINTR);
  return false;
}

void Parking::park(const std::shared_ptr<Parked>& parked, const Goal& goal) {
  parked->is_parked = false;
  // What needs memory comes before the request is somebody else's.
  Executor::Task task([this, parked] { resume(parked); });
  if (!hold(parked, goal)) return;
  // It may be called when the parking is gone already: the executor then takes no task.
  const auto shared_task = std::make_shared<Executor::Task>(std::move(task));
  const std::function<void()> go_on = [shared_task, &executor = executor_] {
    executor.post(Executor::Priority::kWaitedFor, std::move(*shared_task));
  };
  const std::uint64_t ticket = goal.awaited->wait(goal, go_on);
  parked->ticket = ticket;
  if (ticket == 0) go_on();
}

// The executor whose threads may do such work for a filesystem. If the system gives them none, that for slow work.
Executor& Parking::executor_of(Caller::Work work, std::uint64_t filesystem) {
  Lane* lane = &local_;
  if (filesystem != 0) {
    const std::lock_guard lock(lanes_mutex_);
    const auto found = lanes_.find(filesystem);
    const bool is_new = found == lanes_.end() && lanes_.size() < kMostFilesystems;
    lane = found != lanes_.end() ? &found->second : is_new ? &lanes_[filesystem] : &lanes_.rbegin()->second;
  }
  Executor& executor = work == Caller::Work::kMayBlock ? lane->reading : lane->slow;
  return executor.start() ? executor : local_.slow;
}

void Parking::queue(const std::shared_ptr<Parked>& parked, Caller::Work work, std::uint64_t filesystem) {
  parked->is_parked = false;
  if (filesystem != 0 && std::ranges::find(parked->filesystems, filesystem) == parked->filesystems.end()) {
    parked->filesystems.push_back(filesystem);
  }
  Executor& executor = executor_of(work, filesystem);
  Executor::Task task([this, parked, work] { try_parked(parked, work); });
  if (!hold(parked, {})) return;
  if (executor.post(Executor::Priority::kWaitedFor, std::move(task)) || !claim(parked)) return;
  keep_off(*parked);
  fuse_reply_err(parked->request, EINTR);
}

// The request stays where an interrupt finds it until the reply is about to be sent, or until it is queued anew.
void Parking::try_parked(const std::shared_ptr<Parked>& parked, Caller::Work work) {
  if (!is_waiting(parked)) return;
  Try once;
  once.parked_ = &parked;
  const Tried tried = attempt_as(work, parked.get(), parked->attempt, once);
  if (tried.result && tried.refused == Caller::Work::kQuick) return;
  if (!once.may_reply()) return;
  pass_on(parked, once, tried);
}

bool Parking::is_waiting(const std::shared_ptr<Parked>& parked) {
  const std::lock_guard lock(mutex_);
  return waiting_.contains(parked.get());
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
  Try once;
  const Tried tried = attempt_as(Caller::Work::kQuick, nullptr, parked->attempt, once);
  if (!tried.result || tried.refused != Caller::Work::kQuick) pass_on(parked, once, tried);
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
  parked->gave_up = true;
  if (parked->awaited != nullptr) parked->awaited->cancel(parked->ticket);
  fuse_reply_err(request, EINTR);
}

void Parking::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [raw, parked] : waiting_) raw->gave_up = true;
  }
  std::vector<Lane*> lanes = {&local_};
  {
    const std::lock_guard lock(lanes_mutex_);
    for (auto& [filesystem, lane] : lanes_) lanes.push_back(&lane);
  }
  for (Lane* lane : lanes) lane->reading.stop();
  for (Lane* lane : lanes) lane->slow.stop();
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
    parked->gave_up = true;
    parked->keeper.reset();  // what is awaited holds who waits for it, and would keep itself
  }
}

}  // namespace recordfs
