// Parking: requests that wait for a catalog, or for what is read of it, without holding a thread.
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
 public:
  // One try to answer a request: success when it has replied, kPending with `goal` set when it has to wait,
  // any other error to be replied. It may throw.
  using Attempt = std::function<Result<void>(Goal& goal)>;

  enum class Interrupt : std::uint8_t { kAnswerEintr, kIgnore };

  // Parked requests are tried again on `executor`, which has to outlive what is waited for and to
  // stop before the parking goes.
  explicit Parking(Executor& executor) : executor_(executor) {}
  ~Parking() { close(); }
  Parking(const Parking&) = delete;
  Parking& operator=(const Parking&) = delete;

  // Tries to answer `request`, and parks it as often as it has to wait. Replies exactly once. Any thread.
  void answer(fuse_req_t request, Interrupt interrupt, Attempt attempt);

  // Answers everything that is parked with EINTR and parks nothing from now on.
  // REQUIRES: nobody answers any more, so the loop and the executor have stopped.
  void close();

 private:
  struct Parked;

  void wait(const std::shared_ptr<Parked>& parked, const Goal& goal);
  void park(const std::shared_ptr<Parked>& parked, const Goal& goal);
  static void keep_off(const Parked& parked);
  void resume(const std::shared_ptr<Parked>& parked);
  bool claim(const std::shared_ptr<Parked>& parked);
  static bool was_interrupted(Parked& parked);
  static void on_interrupt(fuse_req_t request, void* data);

  Executor& executor_;
  std::mutex mutex_;
  std::unordered_map<Parked*, std::shared_ptr<Parked>> waiting_;
  bool closed_ = false;
};

}  // namespace recordfs
