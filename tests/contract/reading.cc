#include "tests/contract/reading.h"

#include <algorithm>

#include <fmt/format.h>

namespace recordfs::contract {

std::vector<ChunkInfo> Walk::chunks() const {
  std::vector<ChunkInfo> chunks;
  for (const Visit& visit : visits) {
    if (visit.step.chunk) chunks.push_back(*visit.step.chunk);
  }
  return chunks;
}

std::vector<DamagedRegion> Walk::damage() const {
  std::vector<DamagedRegion> regions;
  for (const Visit& visit : visits) {
    regions.insert(regions.end(), visit.step.damage.begin(), visit.step.damage.end());
  }
  return regions;
}

Walk walk(const Container& container, std::uint64_t size) {
  Walk walk;
  walk.in_file_order = container.traits().is_in_file_order;
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    if (walk.visits.size() > size) {
      walk.endless = true;
      break;
    }
    auto step = container.scan({}, *at);
    if (!step) {
      walk.errors.push_back(step.error());
      break;
    }
    walk.visits.push_back({*at, *step});
    at = step->next;
  }
  return walk;
}

bool Reading::reports_damage() const {
  return !refused.empty() || !failures.empty() || !walk.damage().empty() || !walk.errors.empty();
}

void read_records(const ChunkInfo& info, const Chunk& chunk, std::uint64_t first_ordinal, const Visitor& visitor,
                  Reading& reading) {
  const Layout& layout = chunk.layout();
  for (std::uint64_t i = 0; i < layout.records(); ++i) {
    if (const Error* failure = layout.failure(i)) {
      reading.failures.push_back(*failure);
      continue;
    }
    const Extent extent = layout.extent(i);
    auto slice = chunk.read({}, extent.begin, extent.size);
    if (!slice) {
      reading.failures.push_back(slice.error());
      continue;
    }
    reading.records.push_back({info.begin, i, extent.size, std::hash<std::string_view>()(as_text(slice->bytes))});
    if (visitor) visitor(first_ordinal + i, slice->bytes);
  }
}

Reading read_all(const Container& container, std::uint64_t size, const Visitor& visitor, std::uint64_t max_decoded) {
  Reading reading{.walk = walk(container, size), .records = {}, .refused = {}, .failures = {}};
  std::uint64_t ordinal = 0;
  std::uint64_t decoded = 0;
  for (const ChunkInfo& info : reading.walk.chunks()) {
    if (decoded > max_decoded) break;
    auto chunk = container.decode({}, info);
    if (!chunk) {
      reading.refused.push_back(chunk.error());
      ordinal += info.records.value_or(0);
      continue;
    }
    read_records(info, **chunk, ordinal, visitor, reading);
    ordinal += (*chunk)->layout().records();
    decoded += (*chunk)->payload_size();
  }
  return reading;
}

bool is_subsequence(const std::vector<Mark>& part, const std::vector<Mark>& whole) {
  std::size_t next = 0;
  for (const Mark& mark : part) {
    while (next < whole.size() && !whole[next].same_bytes(mark)) ++next;
    if (next == whole.size()) return false;
    ++next;
  }
  return true;
}

bool same_chunk(const ChunkInfo& a, const ChunkInfo& b) {
  return a.begin == b.begin && a.end == b.end && a.kind == b.kind && a.codec == b.codec && a.records == b.records &&
         a.decoded_size == b.decoded_size && a.stored_size == b.stored_size && a.layout_cost == b.layout_cost;
}

bool same_region(const DamagedRegion& a, const DamagedRegion& b) {
  return a.begin == b.begin && a.end == b.end && a.damage_class == b.damage_class &&
         a.records_before == b.records_before && a.records_lost == b.records_lost && a.reason == b.reason;
}

bool same_step(const Step& a, const Step& b) {
  if (a.chunk.has_value() != b.chunk.has_value() || a.next != b.next) return false;
  if (a.chunk && !same_chunk(*a.chunk, *b.chunk)) return false;
  return std::ranges::equal(a.damage, b.damage, same_region);
}

std::string to_string(const ChunkInfo& chunk) {
  return fmt::format("chunk [{}, {}) {}", chunk.begin, chunk.end, chunk.kind.word());
}

std::string to_string(const DamagedRegion& region) {
  return fmt::format("region [{}, {}) {}: {}", region.begin, region.end, recordfs::to_string(region.damage_class),
                     region.reason);
}

}  // namespace recordfs::contract
