#include "core/store/selection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Converts a bound that counts from the end if it is negative.
std::uint64_t place_of(std::int64_t bound, std::uint64_t records) {
  if (bound >= 0) return static_cast<std::uint64_t>(bound);
  const std::uint64_t back = 0 - static_cast<std::uint64_t>(bound);
  return back > records ? 0 : records - back;
}

}  // namespace

OrdinalInterval span_of(const OrdinalRange& range, std::uint64_t records) {
  OrdinalInterval span{.begin = place_of(range.begin, records)};
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

Result<OrdinalInterval> resolve(const OrdinalRange& range, const RecordStore& store) {
  if (!range.counts_from_end()) return span_of(range, 0);
  ASSIGN_OR_RETURN(const auto counted, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
  return span_of(range, counted.records);
}

OrdinalInterval Selection::within(std::uint64_t first, std::uint64_t count) const {
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
  if (!range.is_one && (span.begin <= counted.records || range.may_begin_after_end)) {
    return Selection{.records = {.begin = counted.records, .end = counted.records}};
  }
  return no_record(range, counted.records);
}

Result<RecordRef> find(const RequestContext& context, const RecordAddress& address, const RecordStore& store) {
  auto chunk = wait_for(context, [&] { return store.index().chunk_at(context, address.begin); });
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
