#include "tests/unit/formats/recordio/reading.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/formats/recordio/format.h"
#include "tests/unit/formats/container_reading.h"

namespace recordfs::recordio {
namespace {

void expect_located(const Container& container, const ChunkInfo& info) {
  if (!container.traits().has_seek_structure) return;
  for (const Position at : {info.begin, info.end - 1}) {
    const auto found = container.locate({}, at);
    ASSERT_TRUE(found && *found) << at;
    EXPECT_EQ((*found)->begin, info.begin);
    EXPECT_EQ((*found)->end, info.end);
    EXPECT_EQ((*found)->records, info.records);
  }
}

}  // namespace

std::unique_ptr<Container> open_file(std::string_view bytes, const Limits& limits) {
  return testing::open_as(kFormat, bytes, limits);
}

Reading read_all(const Container& container) {
  testing::ScannedFile file = testing::scan_all(container);
  Reading reading;
  for (const DamagedRegion& region : file.damage) {
    reading.damage.push_back(fmt::format("[{},{}) {}: {}", region.begin, region.end,
                                         recordfs::to_string(region.damage_class), region.reason));
  }
  for (const ChunkInfo& info : file.chunks) {
    expect_located(container, info);
    auto records = testing::records_in(container, info);
    if (!records) reading.failures.push_back(records.error());
    for (std::size_t i = 0; records && i < records->size(); ++i) {
      Result<std::string>& record = (*records)[i];
      record ? reading.records.push_back(std::move(*record)) : reading.failures.push_back(record.error());
    }
  }
  reading.chunks = std::move(file.chunks);
  return reading;
}

Reading read_file(std::string_view bytes, const Limits& limits) {
  const auto container = open_file(bytes, limits);
  if (container) return read_all(*container);
  ADD_FAILURE() << "refused";
  return {};
}

std::string text(std::size_t size, char seed) {
  std::string made;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t letter = (i * i + i / 7 + static_cast<unsigned char>(seed)) % 26;
    made.push_back(static_cast<char>('a' + static_cast<char>(letter)));
  }
  return made;
}

std::string flipped(std::string file, std::size_t at, char with) {
  file.at(at) = static_cast<char>(file.at(at) ^ with);
  return file;
}

}  // namespace recordfs::recordio
