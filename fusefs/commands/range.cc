#include "fusefs/commands/range.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/parse_number.h"
#include "core/store/wait_ticket.h"

namespace recordfs {

const std::string_view kRangeHelp =
    R"(RANGE is 42, 10:20 (without record 20), :100, 5:, -5: (the last five), or @OFFSET/INDEX: the record at this index of
the chunk that begins at this byte, which does not change if other parts of the file are damaged. In a data set
that is SHARD:@OFFSET/INDEX, where SHARD is a file name, a path, or a number from 0.)";

namespace {

std::optional<Range> parse_address(std::string_view text, std::string shard) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto begin = parse_number<Position>(text.substr(0, slash));
  const auto index = parse_number<std::uint64_t>(text.substr(slash + 1));
  if (!begin || !index) return std::nullopt;
  return RecordAddress{*begin, *index, std::move(shard)};
}

// Converts a bound that counts from the end if it is negative.
std::uint64_t place_of(std::int64_t bound, std::uint64_t records) {
  if (bound >= 0) return static_cast<std::uint64_t>(bound);
  const std::uint64_t back = 0 - static_cast<std::uint64_t>(bound);
  return back > records ? 0 : records - back;
}

}  // namespace

std::optional<Range> parse_range(const std::string& text) {
  if (text.starts_with('@')) return parse_address(std::string_view(text).substr(1), {});
  if (const std::size_t at = text.rfind(":@"); at != std::string::npos && at > 0) {
    return parse_address(std::string_view(text).substr(at + 2), text.substr(0, at));
  }
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

Span span_of(const OrdinalRange& range, std::uint64_t records) {
  Span span{.begin = place_of(range.begin, records)};
  if (range.is_one) {
    // There is no record before the first, nor one with the ordinal `records`.
    if (range.begin < 0 && 0 - static_cast<std::uint64_t>(range.begin) > records) span.begin = records;
    span.end = span.begin + 1;
  } else if (range.end) {
    span.end = std::max(span.begin, place_of(*range.end, records));
  }
  return span;
}

Error no_record(const OrdinalRange& range, std::uint64_t records) {
  return {.code = Code::kNotFound, .detail = fmt::format("no record {} (there are {})", range.begin, records)};
}

Result<Span> resolve(const OrdinalRange& range, const RecordStore& store) {
  if (!range.counts_from_end()) return span_of(range, 0);
  ASSIGN_OR_RETURN(const auto counted, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
  return span_of(range, counted.records);
}

Span Selection::within(std::uint64_t first, std::uint64_t count) const {
  const std::uint64_t begin = std::clamp(records.begin, first, first + count);
  const std::uint64_t end = std::clamp(records.end, begin, first + count);
  return {.begin = begin - first, .end = end - first};
}

Result<Selection> select(const OrdinalRange& range, const RecordStore& store) {
  ASSIGN_OR_RETURN(const auto span, resolve(range, store));
  Selection selection{.records = span};
  if (!range.is_one && (span.is_empty() || span.begin == 0)) return selection;
  auto indexed = wait_for([&] { return store.index().find({}, SearchKey::kRecords, span.begin); });
  if (indexed) {
    selection.from = std::move(*indexed);
    return selection;
  }
  if (indexed.error().code != Code::kNotFound) return std::move(indexed).error();
  ASSIGN_OR_RETURN(const auto counted, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
  if (!range.is_one && span.begin <= counted.records) {
    return Selection{.records = {.begin = span.begin, .end = span.begin}};
  }
  return no_record(range, counted.records);
}

Result<RecordRef> find(const RequestContext& context, const RecordAddress& address, const RecordStore& store) {
  auto chunk = wait_for([&] { return store.index().chunk_at(context, address.begin); });
  if (!chunk && chunk.error().code == Code::kNotFound) {
    return Error{.code = Code::kNotFound, .detail = fmt::format("no chunk begins at byte {}", address.begin)};
  }
  if (!chunk) return std::move(chunk).error();
  ASSIGN_OR_RETURN(const auto records, store.chunks().records_in(context, *chunk));
  if (address.index >= records) {
    return Error{.code = Code::kNotFound,
                 .detail = fmt::format("no record {} in the chunk at byte {} (it has {})", address.index, address.begin,
                                       records)};
  }
  return RecordRef{std::move(*chunk), address.index};
}

}  // namespace recordfs
