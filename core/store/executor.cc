#include "core/store/executor.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace recordfs {

struct Executor::Slot {
  enum class State : std::uint8_t { kQueued, kRunning, kEnded };

  explicit Slot(OrderedTask to_run) : task(std::move(to_run)) {}

  OrderedTask task;
  State state = State::kQueued;
  bool has_run = false;
};

// The unfinished tasks of a run_in_order(), oldest first.
struct Executor::Slots {
  Executor& executor;
  std::deque<std::shared_ptr<Slot>> all{};

  explicit Slots(Executor& pool) : executor(pool) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  // Drops the tasks that no thread has taken, and waits for the others.
  ~Slots() {
    {
      const std::lock_guard lock(executor.mutex_);
      for (const auto& slot : all) {
        if (slot->state == Slot::State::kQueued) slot->state = Slot::State::kEnded;
      }
    }
    for (const auto& slot : all) {
      wait_for(*slot);
      slot->task = {};
    }
  }

  bool has_first_ended() const {
    const std::lock_guard lock(executor.mutex_);
    return all.front()->state == Slot::State::kEnded;
  }
  // Returns the first task that no thread has taken, or null if the first task has ended or there is no such task.
  std::shared_ptr<Slot> first_queued() const {
    const std::lock_guard lock(executor.mutex_);
    if (all.front()->state == Slot::State::kEnded) return nullptr;
    const auto queued = std::ranges::find(all, Slot::State::kQueued, &Slot::state);
    return queued == all.end() ? nullptr : *queued;
  }
  void wait_for(const Slot& slot) const {
    std::unique_lock lock(executor.mutex_);
    executor.slot_ended_.wait(lock, [&] { return slot.state == Slot::State::kEnded; });
  }
};

void Executor::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

bool Executor::start() {
  const std::lock_guard lock(mutex_);
  return !threads_.empty() || has_thread();
}

// Starts one more thread, up to the limit. Returns false if there is none at all.
bool Executor::has_thread() {
  if (threads_.size() < wanted_threads_) {
    if (auto thread = start_thread([this] { run(); }); thread.joinable()) threads_.push_back(std::move(thread));
  }
  return !threads_.empty();
}

bool Executor::post(Priority priority, Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (priority == Priority::kAhead && ahead_.size() >= kMaxAhead)) return false;
    if (!has_thread()) return false;
    auto& queue = priority == Priority::kWaitedFor ? waited_for_ : ahead_;
    queue.splice(queue.end(), task.one_);
  }
  wake_.notify_one();
  return true;
}

void Executor::run_in_order(OrderBounds bounds, const std::function<std::optional<OrderedTask>()>& next) {
  Slots slots(*this);
  std::uint64_t bytes = 0;
  for (bool has_more = true;;) {
    const bool has_room = slots.all.size() < bounds.tasks && bytes < bounds.bytes;
    if (has_more && (slots.all.empty() || (has_room && !slots.has_first_ended()))) {
      auto task = next();
      has_more = task.has_value();
      if (!task) continue;
      bytes += task->bytes;
      const auto& slot = slots.all.emplace_back(std::make_shared<Slot>(std::move(*task)));
      post(Priority::kWaitedFor, [this, slot] { run_slot(*slot); });  // if refused, run_slot() runs it below
      continue;
    }
    if (slots.all.empty()) return;
    if (const auto queued = slots.first_queued()) {
      run_slot(*queued);
      continue;
    }
    const auto slot = std::move(slots.all.front());
    slots.all.pop_front();
    slots.wait_for(*slot);
    const OrderedTask task = std::move(slot->task);
    bytes -= task.bytes;
    if (!task.finish(slot->has_run)) return;
  }
}

// Runs the task, unless another thread has taken it or it was dropped.
void Executor::run_slot(Slot& slot) {
  std::unique_lock lock(mutex_);
  if (slot.state != Slot::State::kQueued) return;
  slot.state = Slot::State::kRunning;
  lock.unlock();
  slot.has_run = has_memory_for(slot.task.run);
  lock.lock();
  slot.state = Slot::State::kEnded;
  slot_ended_.notify_all();
}

void Executor::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !waited_for_.empty() || may_go_ahead() || (stopping_ && ahead_.empty()); });
    const bool ahead = waited_for_.empty();
    auto& queue = ahead ? ahead_ : waited_for_;
    if (queue.empty()) return;
    std::function<void()> task = std::move(queue.front());
    queue.pop_front();
    if (ahead) ++going_ahead_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    if (!ahead) continue;
    --going_ahead_;
    // Other threads may have slept because of this task. Wake them to exit.
    if (stopping_) wake_.notify_all();
  }
}

}  // namespace recordfs
