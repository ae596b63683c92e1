#include "tests/unit/formats/bloscpack/reading.h"

#include <gtest/gtest.h>

#include "core/formats/bloscpack/format.h"

namespace recordfs::bloscpack {

std::unique_ptr<Container> open_bytes(const std::string& bytes, const Limits& limits) {
  auto source = std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
  auto container = kFormat.open({}, std::move(source), limits);
  if (!container) ADD_FAILURE() << to_string(container.error());
  return container ? std::move(*container) : nullptr;
}

Read read_all(const Container& container) {
  Read all;
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    auto step = container.scan({}, *at);
    if (!step) {
      ADD_FAILURE() << to_string(step.error());
      break;
    }
    all.damage.insert(all.damage.end(), step->damage.begin(), step->damage.end());
    at = step->next;
    if (!step->chunk) continue;
    auto chunk = container.decode({}, *step->chunk);
    for (std::uint64_t i = 0; i < step->chunk->records.value_or(0); ++i) {
      all.chunks.push_back(*step->chunk);
      if (!chunk) {
        all.records.push_back("!" + chunk.error().detail);
        continue;
      }
      auto bytes = (*chunk)->read({}, 0, (*chunk)->payload_size());
      all.records.push_back(bytes ? std::string(as_text(bytes->bytes)) : "!" + bytes.error().detail);
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
