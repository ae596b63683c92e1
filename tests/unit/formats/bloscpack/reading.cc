#include "tests/unit/formats/bloscpack/reading.h"

#include <gtest/gtest.h>

#include "core/formats/bloscpack/format.h"
#include "tests/unit/formats/container_reading.h"

namespace recordfs::bloscpack {

std::unique_ptr<Container> open_bytes(const std::string& bytes, const Limits& limits) {
  auto container = kFormat.open({}, testing::memory_source(bytes), limits);
  if (!container) ADD_FAILURE() << to_string(container.error());
  return container ? std::move(*container) : nullptr;
}

Read read_all(const Container& container) {
  testing::ScannedFile file = testing::scan_all(container);
  Read all;
  all.damage = std::move(file.damage);
  for (const ChunkInfo& info : file.chunks) {
    for (std::string& record : testing::texts_in(container, info)) {
      all.chunks.push_back(info);
      all.records.push_back(std::move(record));
    }
  }
  return all;
}

Read read_bytes(const std::string& bytes, const Limits& limits) {
  const auto container = open_bytes(bytes, limits);
  return container ? read_all(*container) : Read{};
}

std::string reasons(const Read& read) {
  std::string lines;
  for (const DamagedRegion& region : read.damage) lines += region.reason + "\n";
  return lines;
}

}  // namespace recordfs::bloscpack
