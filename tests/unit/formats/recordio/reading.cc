#include "tests/unit/formats/recordio/reading.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/formats/recordio/format.h"

namespace recordfs::recordio {
namespace {

void read_chunk(const Container& container, const ChunkInfo& info, Reading& reading) {
  auto chunk = container.decode({}, info);
  if (!chunk) {
    reading.failures.push_back(chunk.error());
    return;
  }
  const Layout& layout = (*chunk)->layout();
  for (std::uint64_t i = 0; i < layout.records(); ++i) {
    if (const Error* failure = layout.failure(i)) {
      reading.failures.push_back(*failure);
      continue;
    }
    const Extent extent = layout.extent(i);
    auto slice = (*chunk)->read({}, extent.begin, extent.size);
    if (slice) {
      reading.records.emplace_back(as_text(slice->bytes));
    } else {
      reading.failures.push_back(slice.error());
    }
  }
}

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
  auto opened = kFormat.open({}, std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value()), limits);
  return opened ? std::move(*opened) : nullptr;
}

Reading read_all(const Container& container) {
  Reading reading;
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    const auto step = container.scan({}, *at);
    if (!step) {
      ADD_FAILURE() << to_string(step.error());
      break;
    }
    for (const DamagedRegion& region : step->damage) {
      reading.damage.push_back(fmt::format("[{},{}) {}: {}", region.begin, region.end,
                                           recordfs::to_string(region.damage_class), region.reason));
    }
    if (step->chunk) {
      expect_located(container, *step->chunk);
      reading.chunks.push_back(*step->chunk);
      read_chunk(container, *step->chunk, reading);
    }
    at = step->next;
  }
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
