#include "core/dataset/saved_counts.h"

#include <algorithm>

#include "core/formats/registry.h"
#include "core/store/saved_index.h"

namespace recordfs {

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

}  // namespace recordfs
