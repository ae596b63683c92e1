// The thread pool of mounts and commands.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace recordfs {

// Awaited tasks run before read-ahead. If there are several threads, read-ahead never uses all of them, so that a slow
// file does not delay requests for another.
class Executor {
 public:
  enum class Priority : std::uint8_t { kWaitedFor, kAhead };

  // Starts no thread before start() or the first task, so that the process may still fork.
  explicit Executor(unsigned threads) : wanted_threads_(threads) { threads_.reserve(threads); }
  ~Executor() { stop(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  unsigned threads() const { return wanted_threads_; }

  // Starts the first thread. Returns false if the system gives none. Once there is a thread, every task that post()
  // accepts will run.
  bool start();

  // A task with the memory that queueing needs.
  class Task {
   public:
    // `run` must not throw. Throws std::bad_alloc.
    explicit Task(std::function<void()> run) { one_.push_back(std::move(run)); }

   private:
    friend class Executor;
    std::list<std::function<void()>> one_;
  };

  // Queues a task. Returns false if the executor was stopped, if there is no thread, or if kMaxAhead tasks of kAhead
  // are queued. Does not block or throw. Any thread.
  bool post(Priority priority, Task task);
  // Like the above, but throws std::bad_alloc.
  bool post(Priority priority, std::function<void()> task) { return post(priority, Task(std::move(task))); }

  struct OrderedTask {
    std::function<void()> run;                 // on any thread; may throw std::bad_alloc
    std::function<bool(bool has_run)> finish;  // false: `run` threw. Returns false to stop.
    std::uint64_t bytes = 0;                   // memory that it holds until it is finished
  };
  // Limits the unfinished tasks. One task alone may exceed `bytes`.
  struct OrderBounds {
    std::size_t tasks = 1;
    std::uint64_t bytes = UINT64_MAX;
  };

  // Runs the tasks that `next` returns, until nullopt. The calling thread calls `next`, and `finish` for each task that
  // has run, in order. Meanwhile it runs tasks itself, so without threads it runs all of them. Drops tasks that were
  // not started when it stops or throws what `next` or `finish` throws. REQUIRES: not called from a task.
  void run_in_order(OrderBounds bounds, const std::function<std::optional<OrderedTask>()>& next);

  // Runs the queued tasks, and joins the threads. After that, post() accepts nothing. Must not be called from a task.
  void stop();

  static constexpr std::size_t kMaxAhead = 16;

 private:
  struct Slot;
  struct Slots;

  void run();
  void run_slot(Slot& slot);
  bool has_thread();
  bool may_go_ahead() const { return !ahead_.empty() && (going_ahead_ == 0 || going_ahead_ + 1 < wanted_threads_); }

  const unsigned wanted_threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable slot_ended_;
  std::list<std::function<void()>> waited_for_;
  std::list<std::function<void()>> ahead_;
  std::vector<std::thread> threads_;
  unsigned going_ahead_ = 0;  // threads that run a task of kAhead
  bool stopping_ = false;
};

}  // namespace recordfs
