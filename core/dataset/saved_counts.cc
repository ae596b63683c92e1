#include "core/dataset/saved_counts.h"

#include <algorithm>

#include "core/base/file_state.h"
#include "core/formats/registry.h"
#include "core/store/saved_index.h"

namespace recordfs {

std::optional<ShardCounts> saved_counts(const RequestContext& context, const StoreResources& services,
                                        const SourceId& source, ScanDetail detail) {
  if (!services.index) return std::nullopt;
  auto saved = saved_totals(context, *services.index, source, ScanDetail::kCounts);
  if (saved && detail == ScanDetail::kSizes && !saved->sizes_known) {
    saved = saved_totals(context, *services.index, source, ScanDetail::kSizes);
  }
  if (!saved || saved->damaged_regions != 0) return std::nullopt;
  const auto format =
      std::ranges::find(formats(), saved->format, [](const Format& f) { return hash_of_format(f.name); });
  if (format == formats().end()) return std::nullopt;
  return ShardCounts{.records = saved->sums.records,
                     .chunks = saved->sums.chunks,
                     .stored = saved->size,
                     .format = format->name,
                     .bytes = saved->sums.bytes};
}

std::optional<ShardCounts> saved_counts(const RequestContext& context, const StoreResources& services,
                                        const std::string& path, ScanDetail detail) {
  if (!services.index) return std::nullopt;
  const auto file = FileState::at(path);
  return file && file->is_regular() ? saved_counts(context, services, file->id(), detail) : std::nullopt;
}

}  // namespace recordfs
