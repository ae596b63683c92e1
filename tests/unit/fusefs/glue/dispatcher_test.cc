#include "fusefs/glue/dispatcher.h"

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/request_context.h"
#include "tests/unit/fusefs/glue/wire.h"
#include "tests/unit/support/signal.h"

namespace recordfs::testing {
namespace {

// A wait that ends when the test opens the gate.
class Gate final : public Waitable {
 public:
  std::uint64_t wait(const WaitTicket&, std::function<void()> resume) override {
    resume_ = std::move(resume);
    waits_.set();
    return 1;
  }
  bool cancel(std::uint64_t) override { return true; }

  // Waits for a waiter first.
  void open() {
    waits_.wait();
    resume_();
  }

 private:
  std::function<void()> resume_;
  Signal waits_;
};

// The kernel interrupts a request that begins to wait for it.
class Interrupting final : public Waitable {
 public:
  static constexpr std::uint64_t kWaitId = 7;

  explicit Interrupting(Wire& wire) : wire_(wire) {}
  std::uint64_t wait(const WaitTicket&, std::function<void()>) override {
    wire_.interrupt_newest();
    return kWaitId;
  }
  bool cancel(std::uint64_t wait_id) override {
    if (wait_id != 0) cancelled_ = wait_id;  // 0: it is not known yet, and nothing waits
    return wait_id == kWaitId;
  }
  std::uint64_t cancelled() const { return cancelled_; }

 private:
  Wire& wire_;
  std::uint64_t cancelled_ = 0;
};

class DispatcherTest : public ::testing::Test {
 protected:
  void TearDown() override {
    executor.stop();
    dispatcher.stop();
    dispatcher.close();
  }

  std::uint64_t ask(const std::function<Result<void>(const RequestContext&)>& work,
                    Dispatcher::Interrupt interrupt = Dispatcher::Interrupt::kAnswerEintr) {
    return wire.ask([this, work, interrupt](fuse_req_t request) {
      dispatcher.answer(request, interrupt, [work](const RequestContext& context) -> Result<Dispatcher::Reply> {
        TRY(work(context));
        return Dispatcher::Reply([](fuse_req_t to) { return fuse_reply_err(to, 0); });
      });
    });
  }

  // Sends a slow request that runs until it is cancelled, and signals its begin and end.
  std::uint64_t ask_endlessly(const Signal& begun, const Signal& over, Dispatcher::Interrupt interrupt) {
    return ask(
        [begun, over](const RequestContext& context) -> Result<void> {
          TRY(context.permit_slow_work());
          begun.set();
          for (;;) {
            if (auto may = context.spend(1); !may) {
              over.set();
              return may;
            }
          }
        },
        interrupt);
  }

  Executor executor{1};
  Dispatcher dispatcher{executor};
  Wire wire;
};

TEST_F(DispatcherTest, FastRequestIsAnsweredWhileSlowOnesWait) {
  const Signal released;
  std::vector<std::uint64_t> slow;
  for (int i = 0; i < 16; ++i) {
    slow.push_back(ask([released](const RequestContext& context) -> Result<void> {
      TRY(context.permit_slow_work());
      released.wait();
      return {};
    }));
  }
  const auto quick = ask([](const RequestContext&) -> Result<void> { return {}; });
  EXPECT_EQ(wire.reply_to(quick), 0);
  for (const std::uint64_t asked : slow) EXPECT_EQ(wire.replies_to(asked), 0u);
  released.set();
  for (const std::uint64_t asked : slow) EXPECT_EQ(wire.reply_to(asked), 0);
}

// More requests than there are threads wait for one filesystem.
TEST_F(DispatcherTest, HungFilesystemDelaysNoOther) {
  const Signal released;
  std::vector<std::uint64_t> hanging;
  for (int i = 0; i < 32; ++i) {
    hanging.push_back(ask([released](const RequestContext& context) -> Result<void> {
      TRY(context.permit_wait_for(1));
      released.wait();
      return {};
    }));
  }
  const auto known = ask([](const RequestContext&) -> Result<void> { return {}; });
  const auto other = ask([](const RequestContext& context) { return context.permit_wait_for(2); });
  const auto slow = ask([](const RequestContext& context) { return context.permit_slow_work(); });
  for (const std::uint64_t asked : {known, other, slow}) EXPECT_EQ(wire.reply_to(asked), 0);
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.replies_to(asked), 0u);
  released.set();
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.reply_to(asked), 0);
}

// More requests than there are threads need one filesystem and then another, which hangs.
TEST_F(DispatcherTest, RequestOnTwoFilesystemsWaitsInTheLaneOfTheHungOne) {
  const Signal released;
  std::atomic<int> waiting{0};
  std::vector<std::uint64_t> hanging;
  for (int i = 0; i < 32; ++i) {
    hanging.push_back(ask([&, released](const RequestContext& context) -> Result<void> {
      TRY(context.permit_wait_for(1));
      TRY(context.permit_wait_for(2));
      ++waiting;
      released.wait();
      return {};
    }));
  }
  while (waiting < 8) std::this_thread::yield();
  const auto first = ask([](const RequestContext& context) { return context.permit_wait_for(1); });
  EXPECT_EQ(wire.reply_to(first), 0);
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.replies_to(asked), 0u);
  released.set();
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.reply_to(asked), 0);
}

// As a request for the usage of all sources does.
TEST_F(DispatcherTest, RequestThatContinuesAfterARefusalIsAnswered) {
  const auto asked = ask([](const RequestContext& context) -> Result<void> {
    for (const std::uint64_t filesystem : {1u, 2u, 3u})
      static_cast<void>(context.permit_wait_for(filesystem).has_value());
    return {};
  });
  EXPECT_EQ(wire.reply_to(asked), 0);
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(DispatcherTest, FilesystemsBeyondTheBoundAreServedToo) {
  std::vector<std::uint64_t> requests;
  for (std::uint64_t filesystem = 1; filesystem <= 40; ++filesystem) {
    requests.push_back(
        ask([filesystem](const RequestContext& context) { return context.permit_wait_for(filesystem); }));
  }
  for (const std::uint64_t asked : requests) EXPECT_EQ(wire.reply_to(asked), 0);
}

TEST_F(DispatcherTest, SlowRequestThatWaitedForAFilesystemIsAnsweredOnce) {
  std::atomic<int> tries{0};
  const auto asked = ask([&](const RequestContext& context) -> Result<void> {
    ++tries;
    TRY(context.permit_wait_for(1));
    return context.permit_slow_work();
  });
  EXPECT_EQ(wire.reply_to(asked), 0);
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(DispatcherTest, RequestThatWaitsForAFilesystemIsInterrupted) {
  const Signal begun;
  const Signal released;
  const auto asked = ask([begun, released](const RequestContext& context) -> Result<void> {
    TRY(context.permit_wait_for(1));
    begun.set();
    released.wait();
    return {};
  });
  begun.wait();
  wire.interrupt(asked);
  EXPECT_EQ(wire.reply_to(asked), EINTR);
  released.set();
  executor.stop();
  dispatcher.stop();
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(DispatcherTest, SlowResumedRequestLeavesTheExecutor) {
  Gate gate;
  const Signal released;
  std::atomic<int> tries{0};
  const auto slow = ask([&](const RequestContext& context) -> Result<void> {
    if (tries++ == 0) return pending({}, {.waitable = &gate});
    TRY(context.permit_slow_work());
    released.wait();
    return {};
  });
  gate.open();
  const Signal free;
  ASSERT_TRUE(executor.post(Executor::Priority::kWaitedFor, [free] { free.set(); }));
  free.wait();
  EXPECT_EQ(wire.replies_to(slow), 0u);
  released.set();
  EXPECT_EQ(wire.reply_to(slow), 0);
  EXPECT_EQ(tries, 3);
}

TEST_F(DispatcherTest, SlowRequestMayWaitToo) {
  Gate gate;
  std::atomic<bool> has_waited{false};
  const auto slow = ask([&](const RequestContext& context) -> Result<void> {
    TRY(context.permit_slow_work());
    if (has_waited.exchange(true)) return {};
    return pending({}, {.waitable = &gate});
  });
  gate.open();
  EXPECT_EQ(wire.reply_to(slow), 0);
}

TEST_F(DispatcherTest, FailureOfSlowRequestIsReplied) {
  const auto slow = ask([](const RequestContext& context) -> Result<void> {
    TRY(context.permit_slow_work());
    return Error{.code = Code::kDamage, .detail = {}};
  });
  EXPECT_EQ(wire.reply_to(slow), EIO);
}

// A refused attempt may return a different error.
TEST_F(DispatcherTest, RefusedAttemptIsRetriedWhateverItsError) {
  const auto slow = ask([](const RequestContext& context) -> Result<void> {
    if (!context.permit_slow_work()) return Error{.code = Code::kOutOfMemory, .detail = {}};
    return {};
  });
  EXPECT_EQ(wire.reply_to(slow), 0);
}

TEST_F(DispatcherTest, IncompleteAnswerAfterARefusalIsNotSent) {
  std::atomic<int> tries{0};
  const auto slow = ask([&](const RequestContext& context) -> Result<void> {
    ++tries;
    static_cast<void>(context.permit_slow_work().has_value());
    return {};
  });
  EXPECT_EQ(wire.reply_to(slow), 0);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

TEST_F(DispatcherTest, InterruptedSlowRequestIsAnsweredAndCancelled) {
  const Signal begun;
  const Signal over;
  const auto slow = ask_endlessly(begun, over, Dispatcher::Interrupt::kAnswerEintr);
  begun.wait();
  wire.interrupt(slow);
  EXPECT_EQ(wire.replies_to(slow), 1u);
  EXPECT_EQ(wire.reply_to(slow), EINTR);
  over.wait();
  const auto next = ask([](const RequestContext& context) { return context.permit_slow_work(); });
  EXPECT_EQ(wire.reply_to(next), 0);
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

TEST_F(DispatcherTest, InterruptedQueuedRequestIsNotStarted) {
  const Signal released;
  const auto wait = [released](const RequestContext& context) -> Result<void> {
    TRY(context.permit_slow_work());
    released.wait();
    return {};
  };
  std::vector<std::uint64_t> before{ask(wait), ask(wait)};
  std::atomic<int> tries{0};
  const auto slow = ask([&](const RequestContext& context) {
    ++tries;
    return context.permit_slow_work();
  });
  wire.interrupt(slow);
  EXPECT_EQ(wire.reply_to(slow), EINTR);
  released.set();
  for (const std::uint64_t asked : before) EXPECT_EQ(wire.reply_to(asked), 0);
  executor.stop();
  dispatcher.stop();
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

TEST_F(DispatcherTest, RequestThatIsInterruptedBeforeItWaitsIsAnswered) {
  std::atomic<int> tries{0};
  const auto asked = ask([&](const RequestContext& context) {
    ++tries;
    wire.interrupt_newest();
    return context.permit_slow_work();
  });
  EXPECT_EQ(wire.reply_to(asked), EINTR);
  executor.stop();
  dispatcher.stop();
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(DispatcherTest, WaitOfARequestThatIsInterruptedMeanwhileIsCancelled) {
  Interrupting waitable(wire);
  const auto asked = ask([&](const RequestContext&) -> Result<void> { return pending({}, {.waitable = &waitable}); });
  EXPECT_EQ(wire.reply_to(asked), EINTR);
  EXPECT_EQ(waitable.cancelled(), Interrupting::kWaitId);
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(DispatcherTest, EndCancelsSlowRequests) {
  const Signal begun;
  const Signal over;
  const auto slow = ask_endlessly(begun, over, Dispatcher::Interrupt::kIgnore);
  begun.wait();
  executor.stop();
  dispatcher.stop();
  over.wait();
  EXPECT_EQ(wire.reply_to(slow), EINTR);
  dispatcher.close();
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

}  // namespace
}  // namespace recordfs::testing
