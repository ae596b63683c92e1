// A one-time event that one thread sets and another waits for.
#pragma once

#include <atomic>
#include <future>
#include <memory>

namespace recordfs::testing {

// Copies share one state. It outlives a thread that is still inside set() when the waiter destroys its copy; a
// std::promise would be destroyed during the call.
class Signal {
 public:
  // Only the first call has an effect.
  void set() const {
    if (!state_->is_set.test_and_set()) state_->promise.set_value();
  }
  void wait() const { set_.wait(); }

 private:
  struct State {
    std::promise<void> promise;
    std::atomic_flag is_set;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::shared_future<void> set_ = state_->promise.get_future().share();
};

}  // namespace recordfs::testing
