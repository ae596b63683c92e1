#include "core/store/shared_cache.h"

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/request_context.h"

namespace recordfs {
namespace {

struct Weight {
  explicit Weight(std::uint64_t bytes, int number = 0) : bytes_(bytes), id(number) {}
  std::uint64_t memory() const { return bytes_; }
  std::uint64_t bytes_;
  int id;
};
using Cache = SharedCache<Weight>;

Cache::Make weighing(std::uint64_t bytes) {
  return [bytes] { return std::make_shared<const Weight>(bytes); };
}
Cache::Make failing(Code code, std::atomic<int>& tries) {
  return [code, &tries]() -> Result<Cache::Pointer> {
    ++tries;
    return Error{.code = code, .detail = "as it is"};
  };
}
Result<Cache::Pointer> must_not_be_made() {
  ADD_FAILURE() << "made again";
  return Error{};
}

// Returns what a thread gets for a value that another thread is making and does not finish.
Result<Cache::Pointer> asked_beside(const std::optional<RequestContext::Permission>& maker,
                                    RequestContext::Permission work, const std::atomic<bool>* cancelled,
                                    bool is_refused) {
  Cache cache(1 << 20);
  std::promise<void> begun;
  std::promise<void> ended;
  auto making = std::async(std::launch::async, [&] {
    RequestContext::Attempt attempt;
    const RequestContext context = maker ? RequestContext(*maker, attempt) : RequestContext();
    return cache.get(context, {1, 7}, [&]() -> Result<Cache::Pointer> {
      begun.set_value();
      ended.get_future().wait();
      if (auto may = context.permit_slow_work(); is_refused && !may) return std::move(may).error();
      return std::make_shared<const Weight>(10);
    });
  });
  begun.get_future().wait();
  auto asking = std::async(std::launch::async, [&] {
    RequestContext::Attempt attempt;
    const RequestContext context(work, attempt, cancelled);
    return cache.get(context, {1, 7}, must_not_be_made);
  });
  const bool waits = asking.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
  ended.set_value();
  if (waits) making.wait();
  return asking.get();
}

TEST(SharedCache, NonBlockingThreadWaitsOnlyForNonBlockingOnes) {
  for (const auto maker :
       {std::optional<RequestContext::Permission>(), std::optional(RequestContext::Permission::kAny)}) {
    EXPECT_EQ(asked_beside(maker, RequestContext::Permission::kNonBlocking, nullptr, false).error().code,
              Code::kPending);
  }
  EXPECT_TRUE(
      asked_beside(RequestContext::Permission::kNonBlocking, RequestContext::Permission::kNonBlocking, nullptr, false));
  EXPECT_TRUE(asked_beside(RequestContext::Permission::kNonBlocking, RequestContext::Permission::kAny, nullptr, false));
}

TEST(SharedCache, NonBlockingThreadDoesNotWaitForOneThatMayBlock) {
  EXPECT_EQ(
      asked_beside(RequestContext::Permission::kMayBlock, RequestContext::Permission::kNonBlocking, nullptr, false)
          .error()
          .code,
      Code::kPending);
  EXPECT_TRUE(
      asked_beside(RequestContext::Permission::kMayBlock, RequestContext::Permission::kMayBlock, nullptr, false));
}

TEST(SharedCache, RefusalOfANonBlockingThreadIsSharedWithItsWaiters) {
  EXPECT_EQ(
      asked_beside(RequestContext::Permission::kNonBlocking, RequestContext::Permission::kNonBlocking, nullptr, true)
          .error()
          .code,
      Code::kPending);
}

TEST(SharedCache, CancelledThreadDoesNotWait) {
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(
      asked_beside(RequestContext::Permission::kAny, RequestContext::Permission::kAny, &cancelled, false).error().code,
      Code::kInterrupted);
}

TEST(SharedCache, TooLargeValueEvictsOnlyItself) {
  Cache cache(1000);
  ASSERT_TRUE(cache.get({}, {1, 1}, weighing(10)));
  cache.forget_excess();
  EXPECT_TRUE(cache.peek({1, 1}));
  ASSERT_TRUE(cache.get({}, {1, 2}, weighing(10000)));
  EXPECT_TRUE(cache.peek({1, 2}));
  cache.forget_excess();
  EXPECT_FALSE(cache.peek({1, 2}));
  EXPECT_EQ(cache.statistics().bytes, 0u);
}

TEST(SharedCache, EightThreadsShareOneComputation) {
  Cache cache(1 << 20);
  std::atomic<int> made{0};
  std::promise<void> begin;
  const std::shared_future<void> begun = begin.get_future().share();
  std::vector<std::future<Cache::Pointer>> values;
  for (int i = 0; i < 8; ++i) {
    values.push_back(std::async(std::launch::async, [&] {
      begun.wait();
      return cache
          .get({}, {1, 7},
               [&]() -> Result<Cache::Pointer> {
                 std::this_thread::sleep_for(std::chrono::milliseconds(20));
                 return std::make_shared<const Weight>(10, ++made);
               })
          .value();
    }));
  }
  begin.set_value();
  for (auto& value : values) EXPECT_EQ(value.get()->id, 1);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(cache.statistics().misses, 1u);
  EXPECT_EQ(cache.statistics().hits, 7u);
}

TEST(SharedCache, KeysDoNotWaitForEachOther) {
  Cache cache(1 << 20);
  const auto outer = cache.get({}, {1, 1}, [&]() -> Result<Cache::Pointer> {
    return cache.get({}, {1, 2}, weighing(5));
  });
  EXPECT_EQ(*outer, cache.get({}, {1, 2}, must_not_be_made).value());
}

TEST(SharedCache, LeastRecentlyUsedIsEvictedFirst) {
  Cache cache(3000);
  for (Position begin = 0; begin < 3; ++begin) ASSERT_TRUE(cache.get({}, {1, begin}, weighing(700)));
  ASSERT_TRUE(cache.get({}, {1, 0}, must_not_be_made));
  ASSERT_TRUE(cache.get({}, {1, 3}, weighing(700)));
  EXPECT_TRUE(cache.contains({1, 0}));
  EXPECT_FALSE(cache.contains({1, 1}));
  EXPECT_TRUE(cache.contains({1, 2}));
}

TEST(SharedCache, HoldsNoMoreThanItsCapacity) {
  Cache cache(10000);
  for (Position begin = 0; begin < 1000; ++begin) {
    ASSERT_TRUE(cache.get({}, {1, begin}, weighing(begin % 3000)));
    ASSERT_LE(cache.statistics().bytes, 10000u);
  }
}

TEST(SharedCache, ManySmallFailuresStayWithinTheCapacity) {
  Cache cache(10000);
  std::atomic<int> tries{0};
  for (Position begin = 0; begin < 1000; ++begin) {
    EXPECT_FALSE(cache.get({}, {1, begin}, failing(Code::kDamage, tries)));
    ASSERT_LE(cache.statistics().bytes, 10000u);
  }
}

TEST(SharedCache, ValueLargerThanTheCapacityIsKeptUntilTheNext) {
  Cache cache(100);
  const auto large = cache.get({}, {1, 1}, weighing(5000)).value();
  EXPECT_EQ(cache.get({}, {1, 1}, must_not_be_made).value(), large);
  ASSERT_TRUE(cache.get({}, {1, 2}, weighing(1)));
  EXPECT_FALSE(cache.contains({1, 1}));
  EXPECT_EQ(large->memory(), 5000u);
}

TEST(SharedCache, ValueInUseOutlivesItsEntry) {
  Cache cache(0);
  const auto held = cache.get({}, {1, 1}, weighing(100)).value();
  const std::weak_ptr<const Weight> watched = held;
  for (Position begin = 2; begin < 10; ++begin) ASSERT_TRUE(cache.get({}, {1, begin}, weighing(100)));
  cache.forget(1);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(cache.statistics().bytes, 0u);
}

TEST(SharedCache, DamageIsCached) {
  for (const Code code : {Code::kDamage, Code::kUnsupported, Code::kLimit, Code::kUnfinished, Code::kStale}) {
    Cache cache(10000);
    std::atomic<int> tries{0};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.get({}, {1, 1}, failing(code, tries)).error().code, code);
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(cache.peek({1, 1})->error().detail, "as it is");
  }
}

TEST(SharedCache, TemporaryFailureIsRetried) {
  for (const Code code : {Code::kIo, Code::kChanged, Code::kOutOfMemory}) {
    Cache cache(10000);
    std::atomic<int> tries{0};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.get({}, {1, 1}, failing(code, tries)).error().code, code);
    EXPECT_EQ(tries, 3);
    EXPECT_FALSE(cache.contains({1, 1}));
    EXPECT_TRUE(cache.get({}, {1, 1}, weighing(1)));
  }
}

TEST(SharedCache, WaitersOfATemporaryFailureRetryThemselves) {
  Cache cache(10000);
  std::atomic<int> tries{0};
  std::vector<std::future<bool>> good;
  for (int i = 0; i < 8; ++i) {
    good.push_back(std::async(std::launch::async, [&] {
      return cache
          .get({}, {1, 1},
               [&]() -> Result<Cache::Pointer> {
                 if (++tries <= 3) return Error{.code = Code::kIo, .detail = "not yet"};
                 return std::make_shared<const Weight>(1);
               })
          .has_value();
    }));
  }
  int successes = 0;
  for (auto& one : good) successes += one.get() ? 1 : 0;
  EXPECT_EQ(successes, 5);
  EXPECT_EQ(tries, 4);
}

TEST(SharedCache, ExceptionIsAFailureThatIsNotKept) {
  Cache cache(10000);
  const auto failed = cache.get({}, {1, 1}, []() -> Result<Cache::Pointer> { throw std::bad_alloc(); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kOutOfMemory);
  EXPECT_FALSE(cache.contains({1, 1}));
  EXPECT_TRUE(cache.get({}, {1, 1}, weighing(1)));
}

TEST(SharedCache, PeekComputesNothingAndDoesNotWait) {
  Cache cache(10000);
  EXPECT_FALSE(cache.peek({1, 1}).has_value());
  ASSERT_TRUE(cache.get({}, {1, 1}, [&]() -> Result<Cache::Pointer> {
    EXPECT_FALSE(cache.peek({1, 1}).has_value());
    EXPECT_TRUE(cache.contains({1, 1}));
    return std::make_shared<const Weight>(1);
  }));
  EXPECT_TRUE(cache.peek({1, 1}).has_value());
}

TEST(SharedCache, ForgetsOnlyOneContainer) {
  Cache cache(10000);
  ASSERT_TRUE(cache.get({}, {1, 1}, weighing(1)));
  ASSERT_TRUE(cache.get({}, {2, 1}, weighing(1)));
  cache.forget(1);
  EXPECT_FALSE(cache.contains({1, 1}));
  EXPECT_TRUE(cache.contains({2, 1}));
}

TEST(SharedCache, ForgottenValueIsComputedAgain) {
  Cache cache(10000);
  for (const Position begin : {1u, 2u}) ASSERT_TRUE(cache.get({}, {1, begin}, weighing(100)));
  cache.forget(CacheKey{1, 1});
  cache.forget(CacheKey{1, 3});
  EXPECT_FALSE(cache.contains({1, 1}));
  EXPECT_TRUE(cache.contains({1, 2}));
  EXPECT_EQ(cache.get({}, {1, 1}, weighing(7)).value()->memory(), 7u);
}

TEST(SharedCache, ManyThreadsAndKeysShareASmallCache) {
  Cache cache(2000);
  std::vector<std::future<int>> wrong;
  for (int thread = 0; thread < 8; ++thread) {
    wrong.push_back(std::async(std::launch::async, [&, thread] {
      int count = 0;
      for (Position i = 0; i < 500; ++i) {
        const Position begin = (i * 7 + static_cast<Position>(thread)) % 13;
        const auto value = cache.get({}, {1, begin}, weighing(100 + begin));
        if (!value || (*value)->memory() != 100 + begin) ++count;
      }
      return count;
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
  EXPECT_LE(cache.statistics().bytes, 2000u);
}

}  // namespace
}  // namespace recordfs
