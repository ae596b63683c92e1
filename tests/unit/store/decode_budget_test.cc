#include "core/store/shared_resources.h"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/buffer.h"
#include "core/base/request_context.h"

namespace recordfs {
namespace {

TEST(DecodeBudget, SharesTogetherNeverExceedTheBudget) {
  DecodeBudget budget(100);
  std::atomic<std::uint64_t> held{0};
  std::atomic<std::uint64_t> most{0};
  std::vector<std::future<void>> takers;
  for (std::uint64_t i = 0; i < 8; ++i) {
    takers.push_back(std::async(std::launch::async, [&, bytes = 20 + i] {
      for (int round = 0; round < 200; ++round) {
        const DecodeBudget::Share share({}, budget, bytes);
        const std::uint64_t now = held += bytes;
        for (std::uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        held -= bytes;
      }
    }));
  }
  for (auto& taker : takers) taker.get();
  EXPECT_LE(most, 100u);
}

// Allocates as a decode of unknown size does.
void allocate_much(const RequestContext& context) {
  ASSERT_TRUE(Buffer::allocate(context, 1000));
  ASSERT_TRUE(Buffer::allocate(context, RequestContext::kLargeAllocation));
}

TEST(DecodeBudget, TurnWaitsAtTheFirstLargeBuffer) {
  DecodeBudget budget(100);
  std::optional<DecodeBudget::Share> share(std::in_place, RequestContext(), budget, 1);
  std::atomic<bool> came{false};
  auto large = std::async(std::launch::async, [&] {
    DecodeBudget::DeferredReservation turn(budget);
    allocate_much(RequestContext().with(turn));
    came = true;
  });
  EXPECT_EQ(large.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_FALSE(came);
  share.reset();
  large.get();
  EXPECT_TRUE(came);
}

TEST(DecodeBudget, TurnsWithLargeBuffersRunOneAtATime) {
  for (const std::uint64_t bytes : {0u, 100u}) {
    DecodeBudget budget(bytes);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::vector<std::future<void>> takers;
    for (int i = 0; i < 8; ++i) {
      takers.push_back(std::async(std::launch::async, [&] {
        for (int round = 0; round < 50; ++round) {
          DecodeBudget::DeferredReservation turn(budget);
          allocate_much(RequestContext().with(turn));
          allocate_much(RequestContext().with(turn));
          const int now = ++inside;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          --inside;
        }
      }));
    }
    for (auto& taker : takers) taker.get();
    EXPECT_EQ(most, 1);
  }
}

TEST(DecodeBudget, OnlyNewValuesFreeCachedOnes) {
  int freed = 0;
  DecodeBudget budget(100, [&] { ++freed; });
  {
    DecodeBudget::DeferredReservation turn(budget, DecodeBudget::DeferredReservation::For::kGrows);
    allocate_much(RequestContext().with(turn));
  }
  EXPECT_EQ(freed, 0);
  DecodeBudget::DeferredReservation turn(budget);
  allocate_much(RequestContext().with(turn));
  EXPECT_EQ(freed, 1);
}

TEST(DecodeBudget, TurnWithoutLargeBuffersDoesNotWait) {
  DecodeBudget budget(100);
  const DecodeBudget::Share share({}, budget, 100);
  DecodeBudget::DeferredReservation turn(budget);
  ASSERT_TRUE(Buffer::allocate(RequestContext().with(turn), RequestContext::kLargeAllocation - 1));
}

TEST(DecodeBudget, CancellationEndsTheWaitWithoutAShare) {
  DecodeBudget budget(100);
  std::optional<DecodeBudget::Share> before(std::in_place, RequestContext(), budget, 100);
  std::atomic<bool> cancelled{false};
  auto waiter = std::async(std::launch::async, [&] {
    DecodeBudget::DeferredReservation turn(budget);
    return Buffer::allocate(RequestContext(cancelled).with(turn), RequestContext::kLargeAllocation);
  });
  EXPECT_EQ(waiter.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  cancelled = true;
  EXPECT_EQ(waiter.get().error().code, Code::kInterrupted);
  before.reset();
  const DecodeBudget::Share all({}, budget, 100);
}

TEST(DecodeBudget, EachShareIsAnnouncedBeforeUse) {
  int told = 0;
  DecodeBudget budget(100, [&] { ++told; });
  const DecodeBudget::Share share({}, budget, 1);
  EXPECT_EQ(told, 1);
}

TEST(DecodeBudget, SingleShareMayExceedIt) {
  DecodeBudget budget(100);
  std::optional<DecodeBudget::Share> large(std::in_place, RequestContext(), budget, 1000);
  std::atomic<bool> came{false};
  auto small = std::async(std::launch::async, [&] {
    const DecodeBudget::Share share({}, budget, 1);
    came = true;
  });
  EXPECT_EQ(small.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_FALSE(came);
  large.reset();
  small.get();
  EXPECT_TRUE(came);
}

}  // namespace
}  // namespace recordfs
