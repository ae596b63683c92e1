#include "core/store/executor.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/unit/support/signal.h"

namespace recordfs {
namespace {

using Priority = Executor::Priority;

// Keeps the only thread of an executor busy until released.
struct Busy {
  explicit Busy(Executor& executor) {
    EXPECT_TRUE(executor.post(Priority::kWaitedFor, [this] {
      running.set();
      free.wait();
    }));
    running.wait();
  }
  testing::Signal running, free;
};

TEST(Executor, RunsAwaitedTasksBeforeReadAhead) {
  Executor executor(1);
  std::string order;
  Busy busy(executor);
  EXPECT_TRUE(executor.post(Priority::kAhead, [&] { order += 'a'; }));
  EXPECT_TRUE(executor.post(Priority::kWaitedFor, [&] { order += '1'; }));
  EXPECT_TRUE(executor.post(Priority::kAhead, [&] { order += 'b'; }));
  EXPECT_TRUE(executor.post(Priority::kWaitedFor, [&] { order += '2'; }));
  busy.free.set();
  executor.stop();
  EXPECT_EQ(order, "12ab");
}

TEST(Executor, RefusesReadAheadBeyondItsBoundButNeverAwaitedTasks) {
  Executor executor(1);
  std::atomic<int> ran{0};
  Busy busy(executor);
  for (std::size_t i = 0; i < Executor::kMaxAhead; ++i) EXPECT_TRUE(executor.post(Priority::kAhead, [&] { ++ran; }));
  EXPECT_FALSE(executor.post(Priority::kAhead, [&] { ++ran; }));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(executor.post(Priority::kWaitedFor, [&] { ++ran; }));
  busy.free.set();
  executor.stop();
  EXPECT_EQ(ran, 100 + static_cast<int>(Executor::kMaxAhead));
}

TEST(Executor, ReservesOneThreadForAwaitedTasks) {
  Executor executor(2);
  const testing::Signal free;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(executor.post(Priority::kAhead, [free] { free.wait(); }));
  const testing::Signal answered;
  EXPECT_TRUE(executor.post(Priority::kWaitedFor, [answered] { answered.set(); }));
  answered.wait();
  free.set();
  executor.stop();
}

TEST(Executor, RefusesTasksOnceStopped) {
  Executor executor(2);
  executor.stop();
  EXPECT_FALSE(executor.post(Priority::kWaitedFor, [] { ADD_FAILURE() << "ran"; }));
  EXPECT_FALSE(executor.post(Priority::kAhead, [] { ADD_FAILURE() << "ran"; }));
  executor.stop();
}

TEST(Executor, StopsWithAThreadAsleepDuringTheLastReadAhead) {
  Executor executor(2);
  const testing::Signal free;
  std::atomic<int> ran{0};
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(executor.post(Priority::kAhead, [free, &ran] {
      free.wait();
      ++ran;
    }));
  }
  const auto stopped = std::async(std::launch::async, [&] { executor.stop(); });
  while (executor.post(Priority::kWaitedFor, [] {})) std::this_thread::yield();
  free.set();
  stopped.wait();
  EXPECT_EQ(ran, 2);
}

TEST(Executor, TasksRunConcurrently) {
  Executor executor(2);
  const testing::Signal met;
  const testing::Signal came;
  EXPECT_TRUE(executor.post(Priority::kWaitedFor, [met, came] {
    met.wait();
    came.set();
  }));
  EXPECT_TRUE(executor.post(Priority::kWaitedFor, [met] { met.set(); }));
  came.wait();
}

TEST(Executor, ThreadCountOfZeroStartsOne) {
  std::atomic<bool> ran{false};
  {
    Executor executor(0);
    EXPECT_TRUE(executor.post(Priority::kAhead, [&] { ran = true; }));
  }
  EXPECT_TRUE(ran);
}

TEST(Executor, TaskIsDestroyedAfterItHasRun) {
  Executor executor(1);
  const auto token = std::make_shared<int>(1);
  EXPECT_TRUE(executor.post(Priority::kWaitedFor, [token] {}));
  executor.stop();
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Executor, ConcurrentPostsLoseNoTask) {
  std::atomic<int> ran{0};
  {
    Executor executor(3);
    std::vector<std::future<void>> posters;
    for (int i = 0; i < 6; ++i) {
      posters.push_back(std::async(std::launch::async, [&] {
        for (int j = 0; j < 200; ++j) EXPECT_TRUE(executor.post(Priority::kWaitedFor, [&] { ++ran; }));
      }));
    }
    for (auto& poster : posters) poster.get();
  }
  EXPECT_EQ(ran, 1200);
}

}  // namespace
}  // namespace recordfs
