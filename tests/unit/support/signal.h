// A one-time event that one thread sets and another waits for.
#pragma once

#include <future>
#include <memory>

namespace recordfs::testing {

// Copies share one state. It outlives a thread that is still inside set() when the waiter destroys its copy; a
// std::promise would be destroyed during the call.
class Signal {
 public:
  // Call at most once.
  void set() const { promise_->set_value(); }
  void wait() const { set_.wait(); }

 private:
  std::shared_ptr<std::promise<void>> promise_ = std::make_shared<std::promise<void>>();
  std::shared_future<void> set_ = promise_->get_future().share();
};

}  // namespace recordfs::testing
