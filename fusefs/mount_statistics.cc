#include "fusefs/mount_statistics.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/source.h"
#include "core/remote/session.h"
#include "fusefs/remote_traffic.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostStoreLines = 16;  // with a line

template <class Value>
std::string cache_line(std::string_view of_what, const SharedCache<Value>& cache) {
  const auto statistics = cache.statistics();
  return fmt::format("cache of {}: {} hits, {} misses, {} of {} bytes", of_what, statistics.hits, statistics.misses,
                     statistics.bytes, cache.capacity());
}

}  // namespace

std::vector<std::string> statistics_of(const StoreResources& services, MountTree& tree) {
  const auto stores = tree.containers().stores();
  std::vector<std::string> lines = {
      cache_line("chunks", services.chunks), cache_line("layouts", services.layouts),
      fmt::format("read: {} bytes; decoded: {} bytes", FileSource::bytes_read(), services.decoded_bytes.load())};
  if (remote::Session::is_used()) lines.push_back(remote_traffic_text());
#ifdef __GLIBC__
  // Includes freed memory that malloc keeps, because a daemon holds more than it uses.
  const struct mallinfo2 memory = mallinfo2();
  lines.push_back(
      fmt::format("memory: {} bytes in use, {} kept for reuse", memory.uordblks + memory.hblkhd, memory.fordblks));
#endif
  const std::size_t shown = std::min(stores.size(), kMostStoreLines);
  for (std::size_t i = 0; i < shown; ++i) {
    const Catalog::ScanState state = stores[i]->index().state();
    lines.push_back(fmt::format("{}: {}, {}, {}", stores[i]->name(), counted(state.totals.chunks, "chunk"),
                                counted(state.totals.records, "record"), state.complete ? "complete" : "not complete"));
  }
  if (shown < stores.size()) lines.push_back(fmt::format("and {} more sources", stores.size() - shown));
  if (const Mirror* mirror = tree.mirror())
    lines.push_back(fmt::format("mirrored containers: {} open", mirror->open_containers()));
  if (DataSetTree* set = tree.data_set()) {
    const DataSet::Progress progress = set->progress();
    lines.push_back(fmt::format("shards: {} counted, {}, {} open", progress.shards,
                                counted(progress.totals.records, "record"), set->open_containers()));
  }
  return lines;
}

SourceCounts source_counts(MountTree& tree) {
  if (DataSetTree* set = tree.data_set()) {
    const DataSet::Progress progress = set->progress();
    return {.all = progress.all, .scanned = progress.shards, .missing = set->missing()};
  }
  const auto stores = tree.containers().stores();
  const auto scanned = std::ranges::count_if(stores, [](const auto& store) { return store->index().state().complete; });
  return {.all = stores.size(), .scanned = static_cast<std::uint64_t>(scanned)};
}

}  // namespace recordfs
