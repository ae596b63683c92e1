#include "fusefs/commands/range.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/parse_number.h"

namespace recordfs {

const std::string_view kRangeHelp =
    "RANGE is 42, 10:20 (without record 20), :100, 5:, -5: (the last five), or @OFFSET/INDEX, which recordfs ls prints "
    "as chunk/index; in a data set SHARD:@OFFSET/INDEX.";

namespace {

std::optional<Range> parse_address(std::string_view text, std::string shard) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto begin = parse_number<Position>(text.substr(0, slash));
  const auto index = parse_number<std::uint64_t>(text.substr(slash + 1));
  if (!begin || !index) return std::nullopt;
  return RecordAddress{*begin, *index, std::move(shard)};
}

std::optional<OrdinalRange> parse_ordinals(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    const auto one = parse_number<std::int64_t>(text);
    if (!one || *one == INT64_MAX) return std::nullopt;
    return OrdinalRange{.begin = *one, .is_one = true};
  }
  OrdinalRange range;
  const std::string_view begin = std::string_view(text).substr(0, colon);
  const std::string_view end = std::string_view(text).substr(colon + 1);
  if (!begin.empty()) {
    const auto number = parse_number<std::int64_t>(begin);
    if (!number) return std::nullopt;
    range.begin = *number;
  }
  if (!end.empty()) {
    range.end = parse_number<std::int64_t>(end);
    if (!range.end) return std::nullopt;
  }
  return range;
}

// Returns whether a range ends before it begins, however many records there are.
bool is_reversed(const OrdinalRange& range) {
  return range.end && *range.end < range.begin && (*range.end < 0) == (range.begin < 0);
}

}  // namespace

std::string not_a_range(const std::string& word, std::string_view remark) {
  const auto ordinals = parse_ordinals(word);
  if (ordinals && is_reversed(*ordinals)) return fmt::format("not a range: {} ends before it begins", word);
  return fmt::format("not a range: {}{} (a range is 42, 10:20, :100, 5:, -5: or @OFFSET/INDEX)", word, remark);
}

std::optional<Range> parse_range(const std::string& text) {
  if (text.starts_with('@')) return parse_address(std::string_view(text).substr(1), {});
  if (const std::size_t at = text.rfind(":@"); at != std::string::npos && at > 0) {
    return parse_address(std::string_view(text).substr(at + 2), text.substr(0, at));
  }
  const auto ordinals = parse_ordinals(text);
  return ordinals && !is_reversed(*ordinals) ? std::optional<Range>(*ordinals) : std::nullopt;
}

}  // namespace recordfs
