#include "fusefs/commands/range.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Range> parse_address(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto begin = number_of<Position>(text.substr(0, slash));
  const auto index = number_of<std::uint64_t>(text.substr(slash + 1));
  if (!begin || !index) return std::nullopt;
  return RecordAddress{*begin, *index};
}

// Converts a bound that counts from the end if it is negative.
std::uint64_t place_of(std::int64_t bound, std::uint64_t records) {
  if (bound >= 0) return static_cast<std::uint64_t>(bound);
  const std::uint64_t back = 0 - static_cast<std::uint64_t>(bound);
  return back > records ? 0 : records - back;
}

}  // namespace

std::optional<Range> parse_range(const std::string& text) {
  if (text.starts_with('@')) return parse_address(std::string_view(text).substr(1));
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    const auto one = number_of<std::int64_t>(text);
    if (!one || *one == INT64_MAX) return std::nullopt;
    OrdinalRange range{.begin = *one};
    if (*one != -1) range.end = *one + 1;
    return range;
  }
  OrdinalRange range;
  const std::string_view begin = std::string_view(text).substr(0, colon);
  const std::string_view end = std::string_view(text).substr(colon + 1);
  if (!begin.empty()) {
    const auto number = number_of<std::int64_t>(begin);
    if (!number) return std::nullopt;
    range.begin = *number;
  }
  if (!end.empty()) {
    range.end = number_of<std::int64_t>(end);
    if (!range.end) return std::nullopt;
  }
  return range;
}

Result<Span> resolve(const OrdinalRange& range, const RecordStore& store) {
  std::uint64_t records = 0;
  if (range.begin < 0 || range.end.value_or(0) < 0) {
    ASSIGN_OR_RETURN(const auto counted, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
    records = counted.records;
  }
  Span span{.begin = place_of(range.begin, records)};
  if (range.end) span.end = std::max(span.begin, place_of(*range.end, records));
  return span;
}

}  // namespace recordfs
