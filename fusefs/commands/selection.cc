#include "fusefs/commands/selection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

Error no_record(std::int64_t ordinal, std::uint64_t records) {
  return {.code = Code::kNotFound, .detail = fmt::format("no record {} (there are {})", ordinal, records)};
}

Result<std::uint64_t> count(const RecordStore& store) {
  ASSIGN_OR_RETURN(const auto counted, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
  return counted.records;
}

Result<IndexedChunk> place_of(std::uint64_t ordinal, const RecordStore& store) {
  return wait_for([&] { return store.index().find(SearchKey::kRecords, ordinal); });
}

}  // namespace

Span Selection::within(const IndexedChunk& indexed) const {
  const std::uint64_t first = indexed.before.records;
  const std::uint64_t after = indexed.after().records;
  const std::uint64_t begin = std::clamp(records.begin, first, after);
  const std::uint64_t end = std::clamp(records.end, begin, after);
  return {.begin = begin - first, .end = end - first};
}

Result<Selection> select(const OrdinalRange& range, const RecordStore& store) {
  ASSIGN_OR_RETURN(const auto span, resolve(range, store));
  Selection selection{.records = span};
  if (selection.is_empty() || span.begin == 0) return selection;
  auto indexed = place_of(span.begin, store);
  if (indexed) {
    selection.from = std::move(*indexed);
    return selection;
  }
  if (indexed.error().code != Code::kNotFound) return std::move(indexed).error();
  ASSIGN_OR_RETURN(const auto records, count(store));
  if (span.begin > records) return no_record(range.begin, records);
  return Selection{.records = {.begin = span.begin, .end = span.begin}};
}

Result<Selection> select_one(const OrdinalRange& range, const RecordStore& store) {
  auto ordinal = static_cast<std::uint64_t>(range.begin);
  if (range.begin < 0) {
    ASSIGN_OR_RETURN(const auto records, count(store));
    if (0 - ordinal > records) return no_record(range.begin, records);
    ordinal += records;
  }
  auto indexed = place_of(ordinal, store);
  if (indexed) return Selection{.records = {.begin = ordinal, .end = ordinal + 1}, .from = std::move(*indexed)};
  if (indexed.error().code != Code::kNotFound) return std::move(indexed).error();
  ASSIGN_OR_RETURN(const auto records, count(store));
  return no_record(range.begin, records);
}

Result<RecordRef> find(const RecordAddress& address, const RecordStore& store) {
  auto chunk = wait_for([&] { return store.index().chunk_at(address.begin); });
  if (!chunk && chunk.error().code == Code::kNotFound) {
    return Error{.code = Code::kNotFound, .detail = fmt::format("no chunk begins at byte {}", address.begin)};
  }
  if (!chunk) return std::move(chunk).error();
  ASSIGN_OR_RETURN(const auto records, store.chunks().records_in(*chunk));
  if (address.index >= records) {
    return Error{.code = Code::kNotFound,
                 .detail = fmt::format("no record {} in the chunk at byte {} (it has {})", address.index, address.begin,
                                       records)};
  }
  return RecordRef{std::move(*chunk), address.index};
}

}  // namespace recordfs
