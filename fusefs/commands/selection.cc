#include "fusefs/commands/selection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/store/wait_ticket.h"

namespace recordfs {
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
  if (!range.is_one && (span.is_empty() || span.begin == 0)) return selection;
  auto indexed = wait_for([&] { return store.index().find(SearchKey::kRecords, span.begin); });
  if (indexed) {
    selection.from = std::move(*indexed);
    return selection;
  }
  if (indexed.error().code != Code::kNotFound) return std::move(indexed).error();
  ASSIGN_OR_RETURN(const auto counted, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
  if (!range.is_one && span.begin <= counted.records) {
    return Selection{.records = {.begin = span.begin, .end = span.begin}};
  }
  return Error{.code = Code::kNotFound,
               .detail = fmt::format("no record {} (there are {})", range.begin, counted.records)};
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
