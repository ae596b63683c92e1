#include "core/store/executor.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/support/signal.h"

namespace recordfs {
namespace {

using OrderedTask = Executor::OrderedTask;
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

TEST(Executor, WithoutThreadsOnlyOrderedTasksRun) {
  Executor executor(0);
  EXPECT_FALSE(executor.start());
  EXPECT_FALSE(executor.post(Priority::kWaitedFor, [] { ADD_FAILURE() << "ran"; }));
  const auto caller = std::this_thread::get_id();
  int started = 0;
  std::string order;
  executor.run_in_order({.tasks = 4}, [&]() -> std::optional<OrderedTask> {
    if (started == 3) return std::nullopt;
    return OrderedTask{.run = [caller] { EXPECT_EQ(std::this_thread::get_id(), caller); },
                       .finish =
                           [&order, number = started++](bool) {
                             order += std::to_string(number);
                             return true;
                           }};
  });
  EXPECT_EQ(order, "012");
}

TEST(Executor, OrderedTasksFinishInOrderOnTheCallingThread) {
  for (const unsigned threads : {1u, 3u}) {
    Executor executor(threads);
    const auto caller = std::this_thread::get_id();
    std::vector<int> finished;
    int started = 0;
    executor.run_in_order({.tasks = 7}, [&]() -> std::optional<OrderedTask> {
      if (started == 500) return std::nullopt;
      const auto result = std::make_shared<int>(-1);
      return OrderedTask{.run = [result, number = started++] { *result = number; },
                         .finish =
                             [&, result](bool has_run) {
                               EXPECT_TRUE(has_run);
                               EXPECT_EQ(std::this_thread::get_id(), caller);
                               finished.push_back(*result);
                               return true;
                             }};
    });
    ASSERT_EQ(finished.size(), 500u);
    EXPECT_TRUE(std::ranges::is_sorted(finished));
  }
}

TEST(Executor, UnfinishedOrderedTasksAreBounded) {
  for (const bool by_number : {true, false}) {
    Executor executor(2);
    int unfinished = 0;
    int most = 0;
    int started = 0;
    const auto bounds = by_number ? Executor::OrderBounds{.tasks = 5} : Executor::OrderBounds{.tasks = 99, .bytes = 50};
    executor.run_in_order(bounds, [&]() -> std::optional<OrderedTask> {
      if (started++ == 200) return std::nullopt;
      most = std::max(most, ++unfinished);
      return OrderedTask{
          .run = [] { std::this_thread::yield(); }, .finish = [&](bool) { return --unfinished >= 0; }, .bytes = 10};
    });
    EXPECT_LE(most, 5);
    EXPECT_EQ(unfinished, 0);
  }
}

TEST(Executor, OrderedTasksThatDidNotStartAreDroppedAtTheEnd) {
  for (const bool throws : {false, true}) {
    Executor executor(1);
    const auto token = std::make_shared<int>(0);
    const testing::Signal running, free;
    std::atomic<int> ran{0};
    int started = 0;
    const auto next = [&]() -> std::optional<OrderedTask> {
      ++started;
      if (started == 3) {
        running.wait();
        free.set();
        if (throws) throw std::bad_alloc();
      }
      return OrderedTask{.run =
                             [&, number = started, token] {
                               if (number == 1) running.set();
                               if (number == 1) free.wait();
                               ++ran;
                             },
                         .finish = [token](bool) { return false; }};
    };
    const auto run = [&] { executor.run_in_order({.tasks = 100}, next); };
    if (throws) {
      EXPECT_THROW(run(), std::bad_alloc);
    } else {
      run();
    }
    EXPECT_EQ(token.use_count(), 1);
    const int ran_before = ran;
    EXPECT_LE(ran_before, started);
    executor.stop();
    EXPECT_EQ(ran, ran_before);
  }
}

TEST(Executor, OrderedTaskWithoutMemoryIsReportedInOrder) {
  Executor executor(2);
  std::string order;
  int started = 0;
  executor.run_in_order({.tasks = 3}, [&]() -> std::optional<OrderedTask> {
    if (started == 5) return std::nullopt;
    const int number = started++;
    return OrderedTask{.run =
                           [number] {
                             if (number == 2) throw std::bad_alloc();
                           },
                       .finish =
                           [&order, number](bool has_run) {
                             order += has_run ? std::to_string(number) : "x";
                             return true;
                           }};
  });
  EXPECT_EQ(order, "01x34");
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
