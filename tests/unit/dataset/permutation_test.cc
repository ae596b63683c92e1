// Random orders and samples by a seed.
#include "core/dataset/permutation.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/dataset/sampler.h"

namespace recordfs::testing {
namespace {

std::vector<std::uint64_t> order_of(std::uint64_t size, std::uint64_t seed) {
  const Permutation permutation(size, seed);
  std::vector<std::uint64_t> order;
  for (std::uint64_t place = 0; place < size; ++place) order.push_back(permutation.at(place));
  return order;
}

std::vector<std::uint64_t> sample_of(std::uint64_t size, std::uint64_t count, std::uint64_t seed,
                                     std::uint64_t most_sorted = Sampler::kMostSorted) {
  Sampler sampler(size, count, seed, most_sorted);
  std::vector<std::uint64_t> sample;
  while (const auto number = sampler.next()) sample.push_back(*number);
  return sample;
}

// Returns the numbers as a text. Some libraries of C++ compare vectors of numbers wrongly on processors that store the
// highest byte first.
std::string text_of(const std::vector<std::uint64_t>& numbers) { return fmt::format("{}", fmt::join(numbers, " ")); }

// Returns Pearson's statistic of equally likely results.
double chi_squared(const std::vector<std::uint64_t>& counts) {
  double sum = 0;
  for (const std::uint64_t count : counts) sum += static_cast<double>(count);
  const double expected = sum / static_cast<double>(counts.size());
  double statistic = 0;
  for (const std::uint64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    statistic += difference * difference / expected;
  }
  return statistic;
}

TEST(PermutationTest, EachNumberComesOnceForEverySize) {
  std::vector<std::uint64_t> sizes{0, 1, 2, 3, 5, 6, 7, 10, 100, 1000, 99999};
  for (std::uint64_t power = 4; power <= 65536; power *= 2) sizes.insert(sizes.end(), {power - 1, power, power + 1});
  for (const std::uint64_t size : sizes) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
      std::vector<bool> seen(size);
      for (const std::uint64_t number : order_of(size, seed)) {
        if (number >= size || seen[number]) FAIL() << number << " of " << size << ", seed " << seed;
        seen[number] = true;
      }
    }
  }
}

TEST(PermutationTest, PlaceOfInvertsAt) {
  for (const std::uint64_t size :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{255}, std::uint64_t{256}, std::uint64_t{257},
        std::uint64_t{1} << 40, (std::uint64_t{1} << 40) + 1, std::uint64_t{1} << 62, UINT64_MAX}) {
    const Permutation permutation(size, 9);
    for (const std::uint64_t place : {std::uint64_t{0}, size / 3, size / 2, size - 1}) {
      const std::uint64_t number = permutation.at(place);
      EXPECT_LT(number, size);
      EXPECT_EQ(permutation.place_of(number), place) << size;
    }
  }
}

// Computed by another implementation. Seeds in users' scripts must give the same order in every release.
TEST(PermutationTest, OrderOfASeedNeverChanges) {
  using Order = std::vector<std::uint64_t>;
  EXPECT_EQ(order_of(10, 0), (Order{6, 1, 8, 5, 2, 3, 0, 4, 7, 9}));
  EXPECT_EQ(order_of(10, 1), (Order{8, 7, 5, 1, 0, 2, 3, 4, 6, 9}));
  const auto begin_of = [](const Permutation& permutation) {
    return Order{permutation.at(0), permutation.at(1), permutation.at(2)};
  };
  EXPECT_EQ(begin_of(Permutation(1000, 42)), (Order{743, 59, 798}));
  EXPECT_EQ(begin_of(Permutation(std::uint64_t{1} << 40, 7)), (Order{150092507411, 60962704893, 1055787481426}));
  EXPECT_EQ(begin_of(Permutation(UINT64_MAX, 12345)),
            (Order{2103295439154577501, 16275270826962103815U, 10073190200333198178U}));
}

TEST(PermutationTest, AllOrdersOfFourNumbersAreEquallyLikely) {
  std::map<std::string, std::uint64_t> orders;
  for (std::uint64_t seed = 0; seed < 24000; ++seed) ++orders[text_of(order_of(4, seed))];
  ASSERT_EQ(orders.size(), 24u);
  std::vector<std::uint64_t> counts;
  for (const auto& [order, count] : orders) counts.push_back(count);
  EXPECT_LT(chi_squared(counts), 49.7);  // 23 degrees of freedom, 99.9 %
}

TEST(PermutationTest, EachNumberIsAsLikelyAtEachPlace) {
  constexpr std::uint64_t kSize = 20;
  std::vector<std::uint64_t> counts(kSize * kSize);
  for (std::uint64_t seed = 0; seed < 8000; ++seed) {
    const auto order = order_of(kSize, seed);
    for (std::uint64_t place = 0; place < kSize; ++place) ++counts[place * kSize + order[place]];
  }
  EXPECT_LT(chi_squared(counts), 448);  // 361 degrees of freedom, 99.9 %
}

TEST(PermutationTest, NeighborsAreSeparatedInALargeOrder) {
  constexpr std::uint64_t kSize = 1'000'000'007;
  const Permutation permutation(kSize, 3);
  std::vector<std::uint64_t> counts(100);
  for (std::uint64_t place = 0; place + 1 < 20000; ++place) {
    const std::uint64_t step = (permutation.at(place + 1) + kSize - permutation.at(place)) % kSize;
    ++counts[step * 100 / kSize];
  }
  EXPECT_LT(chi_squared(counts), 149);  // 99 degrees of freedom, 99.9 %
}

TEST(SamplerTest, SampleIsAscendingWithoutRepetition) {
  for (const std::uint64_t count : {0u, 1u, 2u, 99u, 100u}) {
    const auto sample = sample_of(100, count, 5);
    EXPECT_EQ(sample.size(), count);
    EXPECT_TRUE(std::ranges::is_sorted(sample));
    EXPECT_EQ(std::set<std::uint64_t>(sample.begin(), sample.end()).size(), count);
    EXPECT_TRUE(sample.empty() || sample.back() < 100);
  }
}

TEST(SamplerTest, MoreThanThereAreIsEverything) {
  EXPECT_EQ(sample_of(3, 7, 1), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(sample_of(3, UINT64_MAX, 1), (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_TRUE(sample_of(0, 5, 1).empty());
  EXPECT_EQ(Sampler(3, 7, 1).count(), 3u);
}

TEST(SamplerTest, SampleIsTheBeginOfThePermutation) {
  const Permutation permutation(1000, 8);
  std::vector<std::uint64_t> begin;
  for (std::uint64_t place = 0; place < 50; ++place) begin.push_back(permutation.at(place));
  std::ranges::sort(begin);
  EXPECT_EQ(sample_of(1000, 50, 8), begin);
}

TEST(SamplerTest, SampleTooLargeToSortIsTheSame) {
  for (const std::uint64_t count : {1u, 50u, 999u, 1000u}) {
    EXPECT_EQ(sample_of(1000, count, 8, 0), sample_of(1000, count, 8)) << count;
  }
}

TEST(SamplerTest, EverySubsetIsEquallyLikely) {
  std::map<std::string, std::uint64_t> samples;
  for (std::uint64_t seed = 0; seed < 24000; ++seed) ++samples[text_of(sample_of(10, 3, seed))];
  ASSERT_EQ(samples.size(), 120u);
  std::vector<std::uint64_t> counts;
  for (const auto& [sample, count] : samples) counts.push_back(count);
  EXPECT_LT(chi_squared(counts), 173);  // 119 degrees of freedom, 99.9 %
}

TEST(SamplerTest, EveryNumberIsEquallyLikely) {
  std::vector<std::uint64_t> counts(1000);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    for (const std::uint64_t number : sample_of(1000, 100, seed)) ++counts[number];
  }
  EXPECT_LT(chi_squared(counts), 1143);  // 999 degrees of freedom, 99.9 %; less without replacement
}

}  // namespace
}  // namespace recordfs::testing
