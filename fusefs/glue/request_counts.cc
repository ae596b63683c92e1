#include "fusefs/glue/request_counts.h"

#include <fmt/format.h>

namespace recordfs {

std::uint64_t RequestCounts::asked() const {
  std::uint64_t sum = 0;
  for (const auto& count : counts_) sum += count.load(std::memory_order_relaxed);
  return sum - counts_[static_cast<std::size_t>(RequestKind::kForget)].load(std::memory_order_relaxed);
}

std::string RequestCounts::text() const {
  std::string text;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const std::uint64_t count = counts_[i].load(std::memory_order_relaxed);
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kNames[i], count);
  }
  return text.empty() ? "none" : text;
}

}  // namespace recordfs
