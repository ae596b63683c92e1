// Executor: a few threads for work that can go on: pending requests that are resumed,
// and decoding ahead of a reader. Pending requests come first, and where there are several threads, one is
// always left for them: a slow file that is read ahead holds up no request of another.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace recordfs {

class Executor {
 public:
  enum class Priority : std::uint8_t { kWaitedFor, kAhead };

  // Threads start with start() or the first task, so an executor may be made before a process forks.
  explicit Executor(unsigned threads) : wanted_threads_(threads == 0 ? 1 : threads) {}
  ~Executor() { stop(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // How many threads there are at the most.
  unsigned threads() const { return wanted_threads_; }

  // Starts the first thread. False: the system gives none. With one thread there is no task that post() takes and that
  // is not run.
  bool start();

  // A task before it is queued. It has its memory: to queue it takes no more.
  class Task {
   public:
    // `run` must not throw. Throws std::bad_alloc.
    explicit Task(std::function<void()> run) { one_.push_back(std::move(run)); }

   private:
    friend class Executor;
    std::list<std::function<void()>> one_;
  };

  // Queues a task. Any thread. False: the task was not taken, because the executor has
  // stopped, because there is no thread, or, for one that is ahead, because kMaxAhead of them wait already. Throws
  // nothing.
  bool post(Priority priority, Task task);
  // The same. Throws std::bad_alloc.
  bool post(Priority priority, std::function<void()> task) { return post(priority, Task(std::move(task))); }

  // Runs what is queued and ends the threads; from then on post() takes nothing. Not from a task.
  void stop();

  static constexpr std::size_t kMaxAhead = 16;

 private:
  void run();
  bool has_thread();
  bool may_go_ahead() const { return !ahead_.empty() && (going_ahead_ == 0 || going_ahead_ + 1 < wanted_threads_); }

  const unsigned wanted_threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<std::function<void()>> waited_for_;
  std::list<std::function<void()>> ahead_;
  std::vector<std::thread> threads_;
  unsigned going_ahead_ = 0;  // threads that run a task that is ahead
  bool stopping_ = false;
};

}  // namespace recordfs
