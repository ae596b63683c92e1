#include "tests/bench/actions/timing.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace recordfs::bench {

std::string Tally::json() const {
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const auto percentile = [&](std::size_t percent) {
    return sorted.empty() ? 0.0 : 1e6 * sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
  };
  const double mean = sorted.empty() ? 0.0 : 1e6 * total / static_cast<double>(sorted.size());
  return fmt::format(
      R"({{"n": {}, "s": {:.6f}, "us": {:.3f}, "p50_us": {:.3f}, "p99_us": {:.3f}, "bytes": {}, "errors": {}}})"
      "\n",
      sorted.size(), total, mean, percentile(50), percentile(99), bytes_, errors_);
}

}  // namespace recordfs::bench
