#include "tests/flips/ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace recordfs::flips {
namespace {

constexpr std::string_view kUnknown = "?";
constexpr std::string_view kSeparator = " | ";
constexpr std::array kEffects = {Effect::kUnseen, Effect::kBeyond, Effect::kMoved, Effect::kHidden, Effect::kWrong};

[[noreturn]] void stop(const std::string& path, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", path.c_str(), why.c_str());
  std::exit(2);
}

template <class Words>
auto named(const Words& words, std::string_view name) -> std::optional<typename Words::value_type> {
  const auto found = std::ranges::find_if(words, [&](auto word) { return to_string(word) == name; });
  return found == words.end() ? std::nullopt : std::optional(*found);
}

std::optional<Entry> parse_entry(const std::string& line) {
  const std::size_t separator = line.find(kSeparator);
  if (separator == std::string::npos) return std::nullopt;
  std::istringstream words(line.substr(0, separator));
  std::string change, effect, range;
  words >> change >> effect;
  const auto known_change = named(kChanges, change);
  const auto known_effect = named(kEffects, effect);
  if (!known_change || !known_effect) return std::nullopt;
  Entry entry{*known_change, *known_effect, line.substr(separator + kSeparator.size()), {}};
  while (words >> range) {
    char* end = nullptr;
    const Position first = std::strtoull(range.c_str(), &end, 10);
    const Position last = *end == '-' ? std::strtoull(end + 1, &end, 10) : first;
    if (*end != '\0' || last < first) return std::nullopt;
    entry.ranges.push_back({first, last});
  }
  return entry;
}

bool covers(const Entry& entry, Position at) {
  return std::ranges::any_of(entry.ranges, [&](const auto& range) { return range.first <= at && at <= range.last; });
}

std::string to_line(const Entry& entry) {
  std::string line = fmt::format("  {} {}", to_string(entry.change), to_string(entry.effect));
  for (const Entry::Range& range : entry.ranges) {
    line +=
        range.first == range.last ? fmt::format(" {}", range.first) : fmt::format(" {}-{}", range.first, range.last);
  }
  return line + std::string(kSeparator) + entry.why + "\n";
}

}  // namespace

Effect Page::effect(Change change, Position at) const {
  const auto found =
      std::ranges::find_if(entries, [&](const Entry& entry) { return entry.change == change && covers(entry, at); });
  return found == entries.end() ? Effect::kTold : found->effect;
}

std::vector<Position> Page::borders(Change change) const {
  std::vector<Position> borders;
  for (const Entry& entry : entries) {
    if (entry.change != change) continue;
    for (const Entry::Range& range : entry.ranges) borders.insert(borders.end(), {range.first, range.last + 1});
  }
  return borders;
}

std::string Page::why(Change change, Effect effect, Position at) const {
  const auto found = std::ranges::find_if(entries, [&](const Entry& entry) {
    return entry.change == change && entry.effect == effect && covers(entry, at);
  });
  return found == entries.end() ? std::string(kUnknown) : found->why;
}

Ledger read_ledger(const std::string& path) {
  std::ifstream in(path);
  if (!in) stop(path, "cannot be read");
  Ledger ledger;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    if (line.starts_with("#")) {
      ledger.head += line + "\n";
    } else if (!line.starts_with("  ")) {
      ledger.pages.push_back({.sample = line, .costs = 0, .entries = {}});
    } else if (ledger.pages.empty()) {
      stop(path, fmt::format("line {}: stands under no sample", number));
    } else if (line.starts_with("  costs ")) {
      ledger.pages.back().costs = std::strtoull(line.c_str() + 8, nullptr, 10);
    } else if (auto entry = parse_entry(line)) {
      ledger.pages.back().entries.push_back(std::move(*entry));
    } else {
      stop(path, fmt::format("line {}: cannot be understood", number));
    }
  }
  return ledger;
}

void write_ledger(const std::string& path, const Ledger& ledger) {
  std::ofstream out(path);
  out << ledger.head;
  for (const Page& page : ledger.pages) {
    out << "\n" << page.sample << "\n  costs " << page.costs << "\n";
    for (const Entry& entry : page.entries) out << to_line(entry);
  }
  if (!out.flush()) stop(path, "cannot be written");
}

std::vector<Entry> entries_of(Change change, const Effects& found, const Page& before) {
  std::vector<Entry> entries;
  const Entry* last = nullptr;  // of the place before
  for (const auto& place : found) {
    const Position at = place.first;
    const Effect effect = place.second;
    if (effect == Effect::kTold) {
      last = nullptr;
      continue;
    }
    const std::string why = before.why(change, effect, at);
    auto entry = std::ranges::find_if(entries, [&](const Entry& e) { return e.effect == effect && e.why == why; });
    if (entry == entries.end()) {
      last = nullptr;
      entry = entries.insert(entries.end(), {change, effect, why, {}});
    }
    if (last == &*entry) {
      entry->ranges.back().last = at;
    } else {
      entry->ranges.push_back({at, at});
    }
    last = &*entry;
  }
  return entries;
}

}  // namespace recordfs::flips
