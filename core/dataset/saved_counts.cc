#include "core/dataset/saved_counts.h"

#include <algorithm>

#include "core/formats/registry.h"
#include "core/store/saved_index.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Returns the number of records if the file is empty, or ends with the first chunk that has any.
std::optional<std::uint64_t> records_of_only_chunk(const RecordStore& store) {
  if (store.source().size() == 0) return 0;
  if (!store.traits().is_in_file_order) return std::nullopt;
  const auto first = wait_for([&] { return store.index().first_with_records(RequestContext()); });
  const bool is_only = first && *first && (*first)->end == store.source().size();
  return is_only ? (*first)->records : std::nullopt;
}

}  // namespace

std::optional<ShardCounts> saved_counts(const RequestContext& context, const StoreResources& services,
                                        const Location& file, ScanDetail detail,
                                        const std::function<bool(const SourceId& id)>& admits) {
  if (!services.index) return std::nullopt;
  const auto status = status_of(context, file);
  if (!status || !status->is_file() || status->id.source.empty()) return std::nullopt;
  auto saved = saved_totals(context, *services.index, status->id, ScanDetail::kCounts);
  if (saved && detail == ScanDetail::kSizes && !saved->sizes_known) {
    saved = saved_totals(context, *services.index, status->id, ScanDetail::kSizes);
  }
  if (!saved || saved->damaged_regions != 0) return std::nullopt;
  const auto format =
      std::ranges::find(formats(), saved->format, [](const Format& f) { return hash_of_format(f.name); });
  if (format == formats().end() || (admits && !admits(status->id))) return std::nullopt;
  return ShardCounts{.records = saved->sums.records,
                     .chunks = saved->sums.chunks,
                     .stored = saved->size,
                     .format = format->name,
                     .bytes = saved->sums.bytes};
}

std::optional<std::uint64_t> known_records(const RecordStore& store, const StoreResources& services,
                                           const Location& file) {
  if (const auto records = records_of_only_chunk(store)) return records;
  const auto saved = saved_counts({}, services, file, ScanDetail::kCounts);
  return saved ? std::optional(saved->records) : std::nullopt;
}

}  // namespace recordfs
