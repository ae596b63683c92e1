#include "core/store/decode_budget.h"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace recordfs {
namespace {

TEST(DecodeBudget, SharesNeverPassTheBudgetTogether) {
  DecodeBudget budget(100);
  std::atomic<std::uint64_t> held{0};
  std::atomic<std::uint64_t> most{0};
  std::vector<std::future<void>> takers;
  for (std::uint64_t i = 0; i < 8; ++i) {
    takers.push_back(std::async(std::launch::async, [&, bytes = 20 + i] {
      for (int round = 0; round < 200; ++round) {
        const DecodeBudget::Share share(budget, bytes);
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

TEST(DecodeBudget, OneAloneMayPassIt) {
  DecodeBudget budget(100);
  std::optional<DecodeBudget::Share> large(std::in_place, budget, 1000);
  std::atomic<bool> came{false};
  auto small = std::async(std::launch::async, [&] {
    const DecodeBudget::Share share(budget, 1);
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
