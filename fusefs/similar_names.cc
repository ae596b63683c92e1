#include "fusefs/similar_names.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace recordfs {
namespace {

// Returns how many letters have to be added, removed, replaced, or swapped with the next one.
std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::vector<std::size_t>> edits(one.size() + 1, std::vector<std::size_t>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = edits[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      edits[i][j] = std::min({replaced, edits[i - 1][j] + 1, edits[i][j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (is_swapped) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[one.size()][other.size()];
}

}  // namespace

std::string similar_names(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kShort = 4;
  constexpr std::size_t kLongest = 64;  // bytes; longer words resemble nothing
  if (word.size() > kLongest) return {};
  std::size_t least = word.size() < kShort ? 1 : 2;
  std::string similar;
  for (const std::string_view name : names) {
    const std::size_t edits = edits_between(word, name);
    if (edits > least) continue;
    if (edits < least) similar.clear();
    least = edits;
    similar += similar.empty() ? std::string(name) : fmt::format(" or {}", name);
  }
  return similar;
}

}  // namespace recordfs
