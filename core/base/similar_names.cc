#include "core/base/similar_names.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

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

constexpr std::size_t kLongest = 64;  // bytes of words and names that are compared

std::size_t distance_between(std::string_view word, std::string_view name) {
  const bool is_path_into = word.starts_with(name) && word.size() > name.size() && word[name.size()] == '.';
  if (is_path_into) return 0;
  const std::size_t edits = edits_between(word.substr(0, kLongest), name.substr(0, kLongest));
  const bool is_part = name.find(word) != std::string_view::npos || word.find(name) != std::string_view::npos;
  return is_part ? std::min<std::size_t>(edits, 2) : edits;
}

}  // namespace

std::string similar_names(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kShort = 4;
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

std::string nearest_names(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 10;
  std::vector<std::pair<std::size_t, std::size_t>> nearest;  // distances, and indices of names
  nearest.reserve(names.size());
  for (const std::string& name : names) nearest.emplace_back(distance_between(word, name), nearest.size());
  std::ranges::sort(nearest);
  std::vector<std::string> shown;
  for (const auto& [distance, index] : nearest) {
    if (shown.size() == kMostNames) break;
    shown.push_back(printable(names[index]));
  }
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > shown.size() ? ", ..." : "");
}

}  // namespace recordfs
