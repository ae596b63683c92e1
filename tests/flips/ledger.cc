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

#include "core/codec/codec.h"

namespace recordfs::flips {
namespace {

constexpr std::string_view kUnknown = "?";
constexpr std::string_view kSeparator = " | ";
constexpr std::string_view kUntil = " until ";
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

// Returns the numbers of a version, for comparison one by one: 1.21.5 is larger than 1.5.7.
std::vector<unsigned long> numbers_of(const std::string& version) {
  std::vector<unsigned long> numbers;
  std::istringstream in(version);
  for (std::string number; std::getline(in, number, '.');) numbers.push_back(std::strtoul(number.c_str(), nullptr, 10));
  return numbers;
}

// Parses "zstd 1.5.4, reported from 1.5.7".
std::optional<Until> parse_until(const std::string& text) {
  std::istringstream in(text);
  Until until;
  std::string reported, from, rest;
  in >> until.codec_library >> until.last >> reported >> from >> until.reported_from;
  if (reported != "reported" || from != "from" || until.reported_from.empty() || in >> rest ||
      !until.last.ends_with(',')) {
    return std::nullopt;
  }
  until.last.pop_back();
  if (!linked_versions().contains(until.codec_library)) return std::nullopt;
  return until;
}

bool parse_ranges(const std::string& text, std::vector<Entry::Range>& ranges) {
  std::istringstream words(text);
  for (std::string range; words >> range;) {
    char* end = nullptr;
    const Position first = std::strtoull(range.c_str(), &end, 10);
    const Position last = *end == '-' ? std::strtoull(end + 1, &end, 10) : first;
    if (*end != '\0' || last < first) return false;
    ranges.push_back({first, last});
  }
  return true;
}

std::optional<Entry> parse_entry(const std::string& line) {
  const std::size_t separator = line.find(kSeparator);
  if (separator == std::string::npos) return std::nullopt;
  const std::string head = line.substr(0, separator);
  const std::size_t until_at = head.find(kUntil);
  std::istringstream words(head.substr(0, until_at));
  std::string change, effect, ranges;
  words >> change >> effect;
  std::getline(words, ranges);
  const auto known_change = named(kChanges, change);
  const auto known_effect = named(kEffects, effect);
  if (!known_change || !known_effect) return std::nullopt;
  Entry entry{*known_change, *known_effect, line.substr(separator + kSeparator.size()), std::nullopt, {}};
  if (until_at != std::string::npos) {
    entry.until = parse_until(head.substr(until_at + kUntil.size()));
    if (!entry.until) return std::nullopt;
  }
  if (!parse_ranges(ranges, entry.ranges)) return std::nullopt;
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
  if (const auto& until = entry.until) {
    line += fmt::format("{}{} {}, reported from {}", kUntil, until->codec_library, until->last, until->reported_from);
  }
  return line + std::string(kSeparator) + entry.why + "\n";
}

Expected expected_of(const Entry& entry, const Versions& versions) {
  const Expected with_effect{entry.effect, entry.effect};
  if (!entry.until) return with_effect;
  const auto version = numbers_of(versions.at(entry.until->codec_library));
  if (version <= numbers_of(entry.until->last)) return with_effect;
  return {Effect::kReported, version >= numbers_of(entry.until->reported_from) ? Effect::kReported : entry.effect};
}

// Returns the entry for a place, without the place itself, or nullopt if it needs none.
std::optional<Entry> entry_of(Change change, Position at, Effect found, const Page& before, const Versions& versions) {
  const Entry* known = before.entry(change, at);
  if (known != nullptr && known->until && expected_of(*known, versions).allows(found)) {
    return Entry{change, known->effect, known->why, known->until, {}};
  }
  if (found == Effect::kReported) return std::nullopt;
  return Entry{change, found, before.why(change, found, at), std::nullopt, {}};
}

}  // namespace

Versions linked_versions() {
  Versions versions;
  for (const CodecVersion& codec : codec_versions()) versions.emplace(codec.name, codec.version);
  return versions;
}

const Entry* Page::entry(Change change, Position at) const {
  const auto found =
      std::ranges::find_if(entries, [&](const Entry& entry) { return entry.change == change && covers(entry, at); });
  return found == entries.end() ? nullptr : &*found;
}

Expected Page::expected(Change change, Position at, const Versions& versions) const {
  const Entry* found = entry(change, at);
  return found == nullptr ? Expected{} : expected_of(*found, versions);
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
      stop(path, fmt::format("line {}: an entry without a sample", number));
    } else if (line.starts_with("  costs ")) {
      ledger.pages.back().costs = std::strtoull(line.c_str() + 8, nullptr, 10);
    } else if (auto entry = parse_entry(line)) {
      ledger.pages.back().entries.push_back(std::move(*entry));
    } else {
      stop(path, fmt::format("line {}: invalid entry", number));
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

std::vector<Entry> entries_of(Change change, const Effects& found, const Page& before, const Versions& versions) {
  std::vector<Entry> entries;
  const Entry* last = nullptr;  // the entry of the previous place
  for (const auto& [at, effect] : found) {
    const auto here = entry_of(change, at, effect, before, versions);
    if (!here) {
      last = nullptr;
      continue;
    }
    auto entry = std::ranges::find_if(entries, [&](const Entry& e) {
      return e.effect == here->effect && e.why == here->why && e.until == here->until;
    });
    if (entry == entries.end()) {
      last = nullptr;
      entry = entries.insert(entries.end(), *here);
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
