#include "fusefs/tree/first_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace recordfs {
namespace {

// A key that counts how often two of its kind are compared.
struct CountedKey {
  std::uint64_t value = 0;
  bool operator==(const CountedKey& other) const { return value == other.value; }
  auto operator<=>(const CountedKey& other) const {
    ++comparisons;
    return value <=> other.value;
  }
  static inline std::uint64_t comparisons = 0;
};

TEST(FirstIndex, FindsTheIndexOfEachKeyOfAnUnsortedList) {
  const FirstIndex<std::string_view> index({"c", "a", "", "b"});
  EXPECT_EQ(index.find("c"), 0u);
  EXPECT_EQ(index.find("a"), 1u);
  EXPECT_EQ(index.find(""), 2u);
  EXPECT_EQ(index.find("b"), 3u);
  EXPECT_EQ(index.find("aa"), std::nullopt);
  EXPECT_EQ(index.find("d"), std::nullopt);
}

TEST(FirstIndex, FindsTheFirstOfEqualKeys) {
  const FirstIndex<std::uint64_t> index({7, 5, 7, 5, 7});
  EXPECT_EQ(index.find(7), 0u);
  EXPECT_EQ(index.find(5), 1u);
}

TEST(FirstIndex, FindsNothingInAnEmptyList) {
  EXPECT_EQ(FirstIndex<std::uint64_t>().find(0), std::nullopt);
  EXPECT_EQ(FirstIndex<std::uint64_t>(std::vector<std::uint64_t>()).find(0), std::nullopt);
}

TEST(FirstIndex, LookupAmong65536KeysTakesAtMost20Comparisons) {
  constexpr std::uint64_t kKeys = 65536;
  std::vector<CountedKey> keys;
  for (std::uint64_t i = 0; i < kKeys; ++i) keys.push_back({2 * (kKeys - i)});
  const FirstIndex<CountedKey> index(keys);
  for (std::uint64_t value = 0; value < 2 * kKeys + 3; value += 3) {
    CountedKey::comparisons = 0;
    EXPECT_EQ(index.find({value}).has_value(), value > 0 && value % 2 == 0 && value <= 2 * kKeys);
    ASSERT_LE(CountedKey::comparisons, 20u);
  }
}

}  // namespace
}  // namespace recordfs
