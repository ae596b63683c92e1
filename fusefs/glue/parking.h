// Parking: requests that do not hold the thread that they came with: those that wait for a catalog, or for what is read
// of it, have none, and those that turn out to be slow share a few.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/base/result.h"
#include "core/store/awaited.h"
#include "core/store/executor.h"
#include "fusefs/glue/fuse.h"

namespace recordfs {

class Parking {
  struct Parked;

 public:
  // One try to answer a request.
  class Try {
   public:
    Goal goal;

    // Asked directly before the reply, once. False: there is nobody any more to whom to reply, or what would be replied
    // lacks what was refused to this thread; nothing is to be done with the request.
    bool may_reply();

   private:
    friend class Parking;
    const std::shared_ptr<Parked>* slow_ = nullptr;
  };
  // Success when it has replied, or may not; kPending with the goal set when it has to wait, any other error to be
  // replied. It may throw. It may be called again, by another thread, when the caller has returned: it holds what it
  // needs.
  using Attempt = std::function<Result<void>(Try& once)>;

  enum class Interrupt : std::uint8_t { kAnswerEintr, kIgnore };

  // Parked requests are tried again on `executor`, which has to outlive what is waited for and to
  // stop before the parking goes.
  explicit Parking(Executor& executor) : executor_(executor) {}
  ~Parking() {
    stop();
    close();
  }
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

  // Tries to answer `request`, and parks it as often as it has to wait. What is slow (see Caller) is refused to the
  // calling thread and to the executor's: the request goes on in a thread for such, in the order in which they came.
  // Replies exactly once; to one that is interrupted meanwhile at once. Any thread.
  void answer(fuse_req_t request, Interrupt interrupt, Attempt attempt);

  // Starts the first thread for what is slow. False: the system gives none.
  bool start() { return slow_.start(); }
  // Ends the threads for what is slow: what they do is given up. REQUIRES: nobody answers any more, so the loop and the
  // executor have stopped.
  void stop();

  // Answers everything that is parked with EINTR and parks nothing from now on.
  // REQUIRES: nobody answers any more: all threads have stopped.
  void close();

 private:
  // Where one is busy with what its reader has lost patience with, the other goes on.
  static constexpr unsigned kSlowThreads = 2;

  void pass_on(const std::shared_ptr<Parked>& parked, Try& once, const Result<void>& tried, bool was_refused);
  bool hold(const std::shared_ptr<Parked>& parked, const Goal& goal);
  void slow_down(const std::shared_ptr<Parked>& parked);
  void try_slowly(const std::shared_ptr<Parked>& parked);
  bool is_waiting(const std::shared_ptr<Parked>& parked);
  void park(const std::shared_ptr<Parked>& parked, const Goal& goal);
  static void keep_off(const Parked& parked);
  void resume(const std::shared_ptr<Parked>& parked);
  bool claim(const std::shared_ptr<Parked>& parked);
  static bool was_interrupted(Parked& parked);
  static void on_interrupt(fuse_req_t request, void* data);

  Executor& executor_;
  Executor slow_{kSlowThreads};
  std::mutex mutex_;
  std::unordered_map<Parked*, std::shared_ptr<Parked>> waiting_;
  bool stopping_ = false;  // what is slow is given up
  bool closed_ = false;
};

}  // namespace recordfs
