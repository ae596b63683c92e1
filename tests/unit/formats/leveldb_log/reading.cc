#include "tests/unit/formats/leveldb_log/reading.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/formats/leveldb_log/container.h"
#include "core/formats/leveldb_log/format.h"

namespace recordfs::leveldb_log {
namespace {

void read_chunk(const Container& container, const ChunkInfo& info, Reading& reading) {
  auto records = testing::records_in(container, info);
  const auto layout = container.layout({}, info);
  ASSERT_TRUE(records && layout) << to_string(records.error());
  EXPECT_EQ(records->size(), info.records);
  EXPECT_EQ(layout->total(), info.decoded_size);
  for (auto& record : *records) {
    record ? reading.records.push_back(std::move(*record)) : reading.failures.push_back(record.error());
  }
}

}  // namespace

std::unique_ptr<Container> open_log(std::string_view bytes, const Limits& limits) {
  return testing::open_as(kFormat, bytes, limits);
}

std::unique_ptr<Container> open_log_named(const std::string& name, std::string_view bytes) {
  auto container = kFormat.open({}, testing::memory_source(bytes, name), {});
  return container ? std::move(*container) : nullptr;
}

std::unique_ptr<Container> open_in_database(const std::string& name, std::string_view bytes) {
  auto log = open_in_database({}, testing::memory_source(bytes, name), {});
  return log ? std::move(log->container) : nullptr;
}

Reading read_all(const Container& container) {
  Reading reading;
  testing::ScannedFile& file = reading;
  file = testing::scan_all(container);
  for (const ChunkInfo& info : reading.chunks) read_chunk(container, info, reading);
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
