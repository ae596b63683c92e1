#include "tests/unit/formats/riegeli/walk.h"

#include "core/formats/riegeli/format.h"

namespace recordfs::riegeli {

std::unique_ptr<Container> open_bytes(std::string_view bytes, const Limits& limits) {
  return testing::open_as(kFormat, bytes, limits);
}

Result<std::vector<std::string>> records_of(const Chunk& chunk) {
  std::vector<std::string> records;
  for (std::uint64_t i = 0; i < chunk.layout().records(); ++i) {
    const Extent extent = chunk.layout().extent(i);
    ASSIGN_OR_RETURN(const auto slice, chunk.read({}, extent.begin, extent.size));
    records.emplace_back(as_text(slice.bytes));
  }
  return records;
}

Reading read_all(const Container& container, const std::vector<ChunkInfo>& chunks) {
  Reading reading;
  for (const ChunkInfo& info : chunks) {
    // Metadata chunks hold no records. Only one that is first in the file is read.
    if (info.kind.word() == "metadata" && info.records == 0u) continue;
    auto chunk = container.decode({}, info);
    if (!chunk) {
      reading.errors.push_back(std::move(chunk).error());
      continue;
    }
    auto records = records_of(**chunk);
    if (!records) {
      reading.errors.push_back(std::move(records).error());
      continue;
    }
    for (std::uint64_t i = 0; i < records->size(); ++i) {
      reading.records.push_back({info.begin, i, std::move((*records)[i])});
    }
  }
  return reading;
}

Reading read_file(std::string_view bytes, const Limits& limits) {
  const auto container = open_bytes(bytes, limits);
  if (!container) return {};
  return read_all(*container, walk(*container, bytes.size()).chunks);
}

}  // namespace recordfs::riegeli
