#include "fusefs/glue/parking.h"

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/caller.h"
#include "tests/unit/fusefs/wire.h"
#include "tests/unit/support/signal.h"

namespace recordfs::testing {
namespace {

using Try = Parking::Try;

// A wait that ends when the test opens the gate.
class Gate final : public Awaited {
 public:
  std::uint64_t wait(const Goal&, std::function<void()> resume) override {
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

class ParkingTest : public ::testing::Test {
 protected:
  ~ParkingTest() override {
    executor.stop();
    parking.stop();
    parking.close();
  }

  std::uint64_t ask(const std::function<Result<void>(Try&)>& work,
                    Parking::Interrupt interrupt = Parking::Interrupt::kAnswerEintr) {
    return wire.ask([this, work, interrupt](fuse_req_t request) {
      parking.answer(request, interrupt, [work, request](Try& once) -> Result<void> {
        if (auto done = work(once); !done) return done;
        if (once.may_reply()) fuse_reply_err(request, 0);
        return {};
      });
    });
  }

  // Sends a slow request that runs until it is cancelled, and signals its begin and end.
  std::uint64_t ask_endlessly(const Signal& begun, const Signal& over, Parking::Interrupt interrupt) {
    return ask(
        [begun, over](Try&) -> Result<void> {
          if (auto may = Caller::may_be_slow(); !may) return may;
          begun.set();
          for (;;) {
            if (auto may = Caller::may_go_on(1); !may) {
              over.set();
              return may;
            }
          }
        },
        interrupt);
  }

  Executor executor{1};
  Parking parking{executor};
  Wire wire;
};

TEST_F(ParkingTest, FastRequestIsAnsweredWhileSlowOnesWait) {
  const Signal released;
  std::vector<std::uint64_t> slow;
  for (int i = 0; i < 16; ++i) {
    slow.push_back(ask([released](Try&) -> Result<void> {
      if (auto may = Caller::may_be_slow(); !may) return may;
      released.wait();
      return {};
    }));
  }
  const auto quick = ask([](Try&) -> Result<void> { return {}; });
  EXPECT_EQ(wire.reply_to(quick), 0);
  for (const std::uint64_t asked : slow) EXPECT_EQ(wire.replies_to(asked), 0u);
  released.set();
  for (const std::uint64_t asked : slow) EXPECT_EQ(wire.reply_to(asked), 0);
}

// More requests than there are threads wait for one filesystem.
TEST_F(ParkingTest, HungFilesystemDelaysNoOther) {
  const Signal released;
  std::vector<std::uint64_t> hanging;
  for (int i = 0; i < 32; ++i) {
    hanging.push_back(ask([released](Try&) -> Result<void> {
      if (auto may = Caller::may_wait_for(1); !may) return may;
      released.wait();
      return {};
    }));
  }
  const auto known = ask([](Try&) -> Result<void> { return {}; });
  const auto other = ask([](Try&) { return Caller::may_wait_for(2); });
  const auto slow = ask([](Try&) { return Caller::may_be_slow(); });
  for (const std::uint64_t asked : {known, other, slow}) EXPECT_EQ(wire.reply_to(asked), 0);
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.replies_to(asked), 0u);
  released.set();
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.reply_to(asked), 0);
}

// More requests than there are threads need one filesystem and then another, which hangs.
TEST_F(ParkingTest, RequestOnTwoFilesystemsWaitsInTheLaneOfTheHungOne) {
  const Signal released;
  std::atomic<int> waiting{0};
  std::vector<std::uint64_t> hanging;
  for (int i = 0; i < 32; ++i) {
    hanging.push_back(ask([&, released](Try&) -> Result<void> {
      if (auto may = Caller::may_wait_for(1); !may) return may;
      if (auto may = Caller::may_wait_for(2); !may) return may;
      ++waiting;
      released.wait();
      return {};
    }));
  }
  while (waiting < 8) std::this_thread::yield();
  const auto first = ask([](Try&) { return Caller::may_wait_for(1); });
  EXPECT_EQ(wire.reply_to(first), 0);
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.replies_to(asked), 0u);
  released.set();
  for (const std::uint64_t asked : hanging) EXPECT_EQ(wire.reply_to(asked), 0);
}

// As a request for the usage of all sources does.
TEST_F(ParkingTest, RequestThatContinuesAfterARefusalIsAnswered) {
  const auto asked = ask([](Try&) -> Result<void> {
    for (const std::uint64_t filesystem : {1u, 2u, 3u}) static_cast<void>(Caller::may_wait_for(filesystem).has_value());
    return {};
  });
  EXPECT_EQ(wire.reply_to(asked), 0);
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(ParkingTest, FilesystemsBeyondTheBoundAreServedToo) {
  std::vector<std::uint64_t> requests;
  for (std::uint64_t filesystem = 1; filesystem <= 40; ++filesystem) {
    requests.push_back(ask([filesystem](Try&) { return Caller::may_wait_for(filesystem); }));
  }
  for (const std::uint64_t asked : requests) EXPECT_EQ(wire.reply_to(asked), 0);
}

TEST_F(ParkingTest, SlowRequestThatWaitedForAFilesystemIsAnsweredOnce) {
  std::atomic<int> tries{0};
  const auto asked = ask([&](Try&) -> Result<void> {
    ++tries;
    if (auto may = Caller::may_wait_for(1); !may) return may;
    return Caller::may_be_slow();
  });
  EXPECT_EQ(wire.reply_to(asked), 0);
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(ParkingTest, RequestThatWaitsForAFilesystemIsInterrupted) {
  const Signal begun;
  const Signal released;
  const auto asked = ask([begun, released](Try&) -> Result<void> {
    if (auto may = Caller::may_wait_for(1); !may) return may;
    begun.set();
    released.wait();
    return {};
  });
  begun.wait();
  wire.interrupt(asked);
  EXPECT_EQ(wire.reply_to(asked), EINTR);
  released.set();
  executor.stop();
  parking.stop();
  EXPECT_EQ(wire.replies_to(asked), 1u);
}

TEST_F(ParkingTest, SlowResumedRequestLeavesTheExecutor) {
  Gate gate;
  const Signal released;
  std::atomic<int> tries{0};
  const auto slow = ask([&](Try& once) -> Result<void> {
    if (tries++ == 0) {
      once.goal.awaited = &gate;
      return Error{.code = Code::kPending, .detail = {}};
    }
    if (auto may = Caller::may_be_slow(); !may) return may;
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

TEST_F(ParkingTest, SlowRequestMayWaitToo) {
  Gate gate;
  std::atomic<bool> has_waited{false};
  const auto slow = ask([&](Try& once) -> Result<void> {
    if (auto may = Caller::may_be_slow(); !may) return may;
    if (has_waited.exchange(true)) return {};
    once.goal.awaited = &gate;
    return Error{.code = Code::kPending, .detail = {}};
  });
  gate.open();
  EXPECT_EQ(wire.reply_to(slow), 0);
}

TEST_F(ParkingTest, FailureOfSlowRequestIsReplied) {
  const auto slow = ask([](Try&) -> Result<void> {
    if (auto may = Caller::may_be_slow(); !may) return may;
    return Error{.code = Code::kDamage, .detail = {}};
  });
  EXPECT_EQ(wire.reply_to(slow), EIO);
}

// A refused attempt may return a different error.
TEST_F(ParkingTest, RefusedAttemptIsRetriedWhateverItsError) {
  const auto slow = ask([](Try&) -> Result<void> {
    if (!Caller::may_be_slow()) return Error{.code = Code::kOutOfMemory, .detail = {}};
    return {};
  });
  EXPECT_EQ(wire.reply_to(slow), 0);
}

TEST_F(ParkingTest, IncompleteAnswerAfterARefusalIsNotSent) {
  std::atomic<int> tries{0};
  const auto slow = ask([&](Try&) -> Result<void> {
    ++tries;
    static_cast<void>(Caller::may_be_slow().has_value());
    return {};
  });
  EXPECT_EQ(wire.reply_to(slow), 0);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

TEST_F(ParkingTest, InterruptedSlowRequestIsAnsweredAndCancelled) {
  const Signal begun;
  const Signal over;
  const auto slow = ask_endlessly(begun, over, Parking::Interrupt::kAnswerEintr);
  begun.wait();
  wire.interrupt(slow);
  EXPECT_EQ(wire.replies_to(slow), 1u);
  EXPECT_EQ(wire.reply_to(slow), EINTR);
  over.wait();
  const auto next = ask([](Try&) { return Caller::may_be_slow(); });
  EXPECT_EQ(wire.reply_to(next), 0);
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

TEST_F(ParkingTest, InterruptedQueuedRequestIsNotStarted) {
  const Signal released;
  const auto wait = [released](Try&) -> Result<void> {
    if (auto may = Caller::may_be_slow(); !may) return may;
    released.wait();
    return {};
  };
  std::vector<std::uint64_t> before{ask(wait), ask(wait)};
  std::atomic<int> tries{0};
  const auto slow = ask([&](Try&) {
    ++tries;
    return Caller::may_be_slow();
  });
  wire.interrupt(slow);
  EXPECT_EQ(wire.reply_to(slow), EINTR);
  released.set();
  for (const std::uint64_t asked : before) EXPECT_EQ(wire.reply_to(asked), 0);
  executor.stop();
  parking.stop();
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

TEST_F(ParkingTest, EndCancelsSlowRequests) {
  const Signal begun;
  const Signal over;
  const auto slow = ask_endlessly(begun, over, Parking::Interrupt::kIgnore);
  begun.wait();
  executor.stop();
  parking.stop();
  over.wait();
  EXPECT_EQ(wire.reply_to(slow), EINTR);
  parking.close();
  EXPECT_EQ(wire.replies_to(slow), 1u);
}

}  // namespace
}  // namespace recordfs::testing
