// A small thread pool for resumed requests and read-ahead.
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

// Calls `start`, which constructs a std::thread. Returns false if there is no thread or no memory for it.
bool start_thread(const std::function<void()>& start);

// Awaited tasks run before read-ahead. If there are several threads, read-ahead never uses all of them, so that a slow
// file does not delay requests for another.
class Executor {
 public:
  enum class Priority : std::uint8_t { kWaitedFor, kAhead };

  // Starts no thread before start() or the first task, so that the process may still fork.
  explicit Executor(unsigned threads) : wanted_threads_(threads == 0 ? 1 : threads) {}
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

  // Runs the queued tasks, and joins the threads. After that, post() accepts nothing. Must not be called from a task.
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
  unsigned going_ahead_ = 0;  // threads that run a task of kAhead
  bool stopping_ = false;
};

}  // namespace recordfs
