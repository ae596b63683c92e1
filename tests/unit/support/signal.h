// One thread tells another that something has happened.
#pragma once

#include <future>
#include <memory>

namespace recordfs::testing {

// Copies are one signal. A thread that sets a copy of its own may still be at it when the waiter has gone on and
// destroyed the others: a std::promise would be freed under its hands.
class Signal {
 public:
  // At most once.
  void set() const { promise_->set_value(); }
  void wait() const { set_.wait(); }

 private:
  std::shared_ptr<std::promise<void>> promise_ = std::make_shared<std::promise<void>>();
  std::shared_future<void> set_ = promise_->get_future().share();
};

}  // namespace recordfs::testing
