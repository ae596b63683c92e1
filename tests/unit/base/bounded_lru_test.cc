#include "core/base/bounded_lru.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace recordfs::testing {
namespace {

TEST(BoundedLru, KeepsTheMostRecentlyUsed) {
  BoundedLru<int, std::shared_ptr<const int>> kept(2);
  std::weak_ptr<const int> first = kept.add(1, std::make_shared<const int>(1));
  kept.add(2, std::make_shared<const int>(2));
  EXPECT_EQ(*kept.add(2, std::make_shared<const int>(3)), 2) << "another was faster";
  EXPECT_TRUE(kept.find(1));
  kept.add(3, std::make_shared<const int>(3));
  EXPECT_FALSE(kept.find(2));
  EXPECT_TRUE(kept.find(1));
  kept.drop(1);
  EXPECT_TRUE(first.expired());
  kept.clear();
  EXPECT_EQ(kept.size(), 0u);
}

TEST(BoundedLru, ValueInUseIsNotDroppedAsUnused) {
  constexpr auto kEver = std::chrono::steady_clock::time_point::max();
  BoundedLru<int, std::shared_ptr<const int>> kept(3);
  auto in_use = kept.add(1, std::make_shared<const int>(1));
  kept.add(2, std::make_shared<const int>(2));
  kept.drop_unused_since(kEver);
  EXPECT_TRUE(kept.find(1));
  EXPECT_FALSE(kept.find(2));
  in_use.reset();
  kept.drop_unused_since(kEver);
  EXPECT_EQ(kept.size(), 0u);
}

TEST(BoundedLru, BytesAreBoundedExceptOfOneValue) {
  BoundedLru<int, std::string> kept(10, 100);
  kept.add(1, "a", 60);
  kept.add(2, "b", 40);
  EXPECT_EQ(kept.size(), 2u);
  kept.add(3, "c", 1);
  EXPECT_FALSE(kept.find(1));
  EXPECT_TRUE(kept.find(2));
  kept.add(4, "d", 1000);
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.find(4), "d");
  kept.drop(4);
  kept.add(5, "e", 60);
  kept.add(6, "f", 40);
  EXPECT_EQ(kept.size(), 2u);
}

TEST(BoundedLru, ValueOfTheLastKeyUntilAnotherIsFoundIfItMeetsTheCondition) {
  BoundedLru<int, std::string> kept(2);
  const auto any = [](const std::string&) { return true; };
  EXPECT_FALSE(kept.find_last_until(10, any));
  kept.add(10, "ten");
  kept.add(20, "twenty");
  EXPECT_FALSE(kept.find_last_until(9, any));
  EXPECT_EQ(kept.find_last_until(20, any), "twenty");
  EXPECT_FALSE(kept.find_last_until(29, [](const std::string& value) { return value == "ten"; }));
  EXPECT_EQ(kept.find_last_until(19, any), "ten");
  kept.add(30, "thirty");
  EXPECT_TRUE(kept.find(10)) << "used by the search";
  EXPECT_FALSE(kept.find(20));
}

}  // namespace
}  // namespace recordfs::testing
