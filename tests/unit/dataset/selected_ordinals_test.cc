#include "core/dataset/selected_ordinals.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace recordfs {
namespace {

TEST(SelectedOrdinals, FindsEachOrdinalByItsPlace) {
  for (const std::uint64_t most_skipped : {2u, 1000u}) {  // as bits, and as runs
    std::mt19937_64 random(most_skipped);
    SelectedOrdinals selected;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t begin = 5000; expected.size() < 100'000; begin += random() % most_skipped) {
      const std::uint64_t end = begin + random() % 9;
      ASSERT_TRUE(selected.add({.begin = begin, .end = end}));
      for (; begin < end; ++begin) expected.push_back(begin);
    }
    ASSERT_EQ(selected.records(), expected.size());
    for (std::size_t place = 0; place < expected.size(); ++place) ASSERT_EQ(selected.at(place), expected[place]);
  }
}

TEST(SelectedOrdinals, RefusesOrdinalsThatNeedTooMuchMemory) {
  SelectedOrdinals selected;
  std::uint64_t runs = 0;
  while (selected.add({.begin = runs * 1000, .end = runs * 1000 + 1})) ++runs;
  EXPECT_EQ(runs, std::uint64_t{4} << 20);
  EXPECT_EQ(selected.records(), runs);
  EXPECT_EQ(selected.at(runs - 1), (runs - 1) * 1000);
}

}  // namespace
}  // namespace recordfs
