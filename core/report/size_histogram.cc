#include "core/report/size_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string_view>

#include "core/dataset/ordered_pass.h"

namespace recordfs {
namespace {

constexpr unsigned kStepBits = 4;
constexpr std::uint64_t kSteps = 1u << kStepBits;  // counters for each power of two
// Bars are a power of two, or parts of one if the largest size is at most so many times the smallest.
constexpr std::uint64_t kRatioForQuarters = 16;
constexpr std::uint64_t kRatioForSteps = 2;

std::size_t bucket_of(std::uint64_t size) {
  if (size < kSteps) return static_cast<std::size_t>(size);
  const auto shift = static_cast<unsigned>(std::bit_width(size)) - 1 - kStepBits;
  return static_cast<std::size_t>(kSteps * (shift + 1) + ((size >> shift) & (kSteps - 1)));
}

std::uint64_t first_of(std::size_t bucket) {
  if (bucket < kSteps) return bucket;
  return (kSteps + (bucket & (kSteps - 1))) << ((bucket >> kStepBits) - 1);
}

std::uint64_t last_of(std::size_t bucket) {
  if (bucket < kSteps) return bucket;
  return first_of(bucket) + ((std::uint64_t{1} << ((bucket >> kStepBits) - 1)) - 1);
}

// Returns the first size of the bar that contains a size. A power of two has 2^`bits` bars.
std::uint64_t bar_of(std::uint64_t size, unsigned bits) {
  const auto width = static_cast<unsigned>(std::bit_width(size));
  return width <= bits + 1 ? size : size >> (width - bits - 1) << (width - bits - 1);
}

unsigned bits_for(std::uint64_t smallest, std::uint64_t largest) {
  if (largest / kRatioForSteps <= smallest) return kStepBits;
  return largest / kRatioForQuarters <= smallest ? 2 : 0;
}

}  // namespace

void SizeHistogram::add(std::uint64_t size) {
  ++buckets_[bucket_of(size)];
  ++count_;
  smallest_ = std::min(smallest_, size);
  largest_ = std::max(largest_, size);
  sum_ += static_cast<double>(size);
}

void SizeHistogram::add(const SizeHistogram& other) {
  if (other.count_ == 0) return;
  for (std::size_t i = bucket_of(other.smallest_); i <= bucket_of(other.largest_); ++i)
    buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  smallest_ = std::min(smallest_, other.smallest_);
  largest_ = std::max(largest_, other.largest_);
  sum_ += other.sum_;
}

std::uint64_t SizeHistogram::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    passed += buckets_[i];
    if (passed >= wanted) return std::clamp(last_of(i), smallest_, largest_);
  }
  return largest_;
}

std::vector<SizeHistogram::Bar> SizeHistogram::bars() const {
  std::vector<Bar> bars;
  if (count_ == 0) return bars;
  const unsigned bits = bits_for(smallest_, largest_);
  const std::uint64_t last = bar_of(largest_, bits);
  for (std::size_t i = bucket_of(bar_of(smallest_, bits)); i < kBuckets && bar_of(first_of(i), bits) <= last; ++i) {
    if (bars.empty() || bar_of(first_of(i), bits) != bar_of(bars.back().first, bits)) {
      bars.push_back({.first = first_of(i)});
    }
    bars.back().last = last_of(i);
    bars.back().count += buckets_[i];
  }
  return bars;
}

std::string block_line(const std::vector<SizeHistogram::Bar>& bars, bool as_blocks) {
  constexpr std::uint64_t kHeights = 8;
  const std::string_view characters = as_blocks ? "▁▂▃▄▅▆▇█" : "_.-:=+*#";
  const std::size_t bytes = characters.size() / kHeights;  // of a character
  std::uint64_t most = 1;
  for (const SizeHistogram::Bar& bar : bars) most = std::max(most, bar.count);
  std::string line;
  for (const SizeHistogram::Bar& bar : bars) {
    const double height = static_cast<double>(bar.count) / static_cast<double>(most);
    const auto block = static_cast<std::size_t>(std::ceil(height * static_cast<double>(kHeights)));
    const std::size_t height_from_0 = std::clamp<std::size_t>(block, 1, kHeights) - 1;
    line += bar.count == 0 ? " " : characters.substr(height_from_0 * bytes, bytes);
  }
  return line;
}

Result<SizeHistogram> sizes_of(const RecordStore& store, unsigned threads) {
  SizeHistogram sizes;
  TRY(read_part({.store = store}, {.threads = threads},
                [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
                  if (!step.indexed) return {};
                  const auto layout = layout_of(context, store, step.indexed->chunk);
                  if (!layout) return {};
                  const auto of_chunk = std::make_shared<SizeHistogram>();
                  for (std::uint64_t i = 0; i < (*layout)->records(); ++i) {
                    if ((*layout)->failure(i) == nullptr) of_chunk->add((*layout)->extent(i).size);
                  }
                  return [&sizes, of_chunk] {
                    sizes.add(*of_chunk);
                    return true;
                  };
                }));
  return sizes;
}

}  // namespace recordfs
