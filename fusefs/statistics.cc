#include "fusefs/statistics.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/base/source.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostStores = 16;

template <class Value>
std::string cache_line(std::string_view of_what, const SharedCache<Value>& cache) {
  const auto statistics = cache.statistics();
  return fmt::format("cache of {}: {} hits, {} misses, {} of {} bytes", of_what, statistics.hits, statistics.misses,
                     statistics.bytes, cache.capacity());
}

}  // namespace

std::vector<std::string> statistics_of(const Services& services,
                                       const std::vector<std::shared_ptr<const RecordStore>>& stores) {
  std::vector<std::string> lines = {
      cache_line("chunks", services.chunks), cache_line("layouts", services.layouts),
      fmt::format("read: {} bytes; decoded: {} bytes", FileSource::bytes_read(), services.decoded_bytes.load())};
  const std::size_t shown = std::min(stores.size(), kMostStores);
  for (std::size_t i = 0; i < shown; ++i) {
    const Catalog::State state = stores[i]->state();
    lines.push_back(fmt::format("{}: {} chunks, {} records, {}", stores[i]->name(), state.totals.chunks,
                                state.totals.records, state.complete ? "complete" : "not complete"));
  }
  if (shown < stores.size()) lines.push_back(fmt::format("and {} more sources", stores.size() - shown));
  return lines;
}

}  // namespace recordfs
