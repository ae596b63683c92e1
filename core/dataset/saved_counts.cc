#include "core/dataset/saved_counts.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/formats/registry.h"
#include "core/store/saved_index.h"

namespace recordfs {

std::optional<ShardCounts> saved_counts(const RequestContext& context, const Services& services,
                                        const FileIdentity& file, ScanDetail detail) {
  if (!services.index) return std::nullopt;
  auto saved = saved_totals(context, *services.index, file, ScanDetail::kCounts);
  if (saved && detail == ScanDetail::kSizes && !saved->sizes_known) {
    saved = saved_totals(context, *services.index, file, ScanDetail::kSizes);
  }
  if (!saved || saved->damaged_regions != 0) return std::nullopt;
  const auto format =
      std::ranges::find(formats(), saved->format, [](const Format& f) { return hash_of_format(f.name); });
  if (format == formats().end()) return std::nullopt;
  return ShardCounts{.records = saved->sums.records,
                     .chunks = saved->sums.chunks,
                     .stored = file.size,
                     .format = format->name,
                     .bytes = saved->sums.bytes};
}

std::optional<ShardCounts> saved_counts(const RequestContext& context, const Services& services,
                                        const std::string& path, ScanDetail detail) {
  struct stat st {};
  if (!services.index || ::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  return saved_counts(context, services, FileIdentity::of(st), detail);
}

}  // namespace recordfs
