#include "tests/unit/formats/leveldb_log/reading.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/formats/leveldb_log/container.h"
#include "core/formats/leveldb_log/format.h"

namespace recordfs::leveldb_log {
namespace {

std::shared_ptr<const Source> source_of(const std::string& name, std::string_view bytes) {
  return std::make_shared<MemorySource>(std::move(*Buffer::copy_of({}, as_bytes(bytes))), name);
}

void read_chunk(const Container& container, const ChunkInfo& info, Reading& reading) {
  const auto chunk = container.decode({}, info);
  ASSERT_TRUE(chunk) << to_string(chunk.error());
  const Layout& layout = (*chunk)->layout();
  EXPECT_EQ(layout.records(), info.records);
  EXPECT_EQ(layout.total(), info.decoded_size);
  for (std::uint64_t i = 0; i < layout.records(); ++i) {
    if (const Error* why = layout.failure(i)) {
      reading.failures.push_back(*why);
      continue;
    }
    const Extent extent = layout.extent(i);
    const auto bytes = (*chunk)->read({}, extent.begin, extent.size);
    ASSERT_TRUE(bytes);
    reading.records.emplace_back(as_text(bytes->bytes));
  }
}

}  // namespace

std::unique_ptr<Container> open_log(std::string_view bytes, const Limits& limits) {
  auto container = kFormat.open({}, source_of("", bytes), limits);
  return container ? std::move(*container) : nullptr;
}

std::unique_ptr<Container> open_log_named(const std::string& name, std::string_view bytes) {
  auto container = kFormat.open({}, source_of(name, bytes), {});
  return container ? std::move(*container) : nullptr;
}

std::unique_ptr<Container> open_in_database(const std::string& name, std::string_view bytes) {
  auto log = open_in_database({}, source_of(name, bytes), {});
  return log ? std::move(log->container) : nullptr;
}

Reading read_all(const Container& container) {
  Reading reading;
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    auto step = container.scan({}, *at);
    if (!step) {
      ADD_FAILURE() << to_string(step.error());
      break;
    }
    ++reading.steps;
    if (step->chunk) read_chunk(container, *step->chunk, reading);
    if (step->chunk) reading.chunks.push_back(*step->chunk);
    for (DamagedRegion& region : step->damage) reading.damage.push_back(std::move(region));
    at = step->next;
  }
  return reading;
}

Reading read_log(std::string_view bytes, const Limits& limits) {
  const auto container = open_log(bytes, limits);
  if (!container) {
    ADD_FAILURE() << "refused";
    return {};
  }
  return read_all(*container);
}

std::string describe(const std::vector<DamagedRegion>& damage) {
  std::string all;
  for (const DamagedRegion& region : damage) {
    const std::string lost = region.records_lost ? std::to_string(*region.records_lost) : "?";
    all += fmt::format("[{},{}) {} {}: {}\n", region.begin, region.end, to_string(region.damage_class), lost,
                       region.reason);
  }
  return all;
}

std::string text(std::size_t size, char seed) {
  std::string out(size, seed);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(seed + static_cast<char>(i * 7 % 19));
  return out;
}

}  // namespace recordfs::leveldb_log
