#include "fusefs/statistics.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
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

// Reports freed memory that malloc keeps, because a daemon holds more than it uses.
std::vector<std::string> memory_lines() {
#ifdef __GLIBC__
  const struct mallinfo2 told = mallinfo2();
  return {fmt::format("memory: {} bytes in use, {} kept for reuse", told.uordblks + told.hblkhd, told.fordblks)};
#else
  return {};
#endif
}

}  // namespace

std::vector<std::string> statistics_of(const Services& services,
                                       const std::vector<std::shared_ptr<const RecordStore>>& stores) {
  std::vector<std::string> lines = {
      cache_line("chunks", services.chunks), cache_line("layouts", services.layouts),
      fmt::format("read: {} bytes; decoded: {} bytes", FileSource::bytes_read(), services.decoded_bytes.load())};
  for (std::string& line : memory_lines()) lines.push_back(std::move(line));
  const std::size_t shown = std::min(stores.size(), kMostStores);
  for (std::size_t i = 0; i < shown; ++i) {
    const Catalog::ScanState state = stores[i]->index().state();
    lines.push_back(fmt::format("{}: {}, {}, {}", stores[i]->name(), counted(state.totals.chunks, "chunk"),
                                counted(state.totals.records, "record"), state.complete ? "complete" : "not complete"));
  }
  if (shown < stores.size()) lines.push_back(fmt::format("and {} more sources", stores.size() - shown));
  return lines;
}

}  // namespace recordfs
