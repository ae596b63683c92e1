// Opens files in memory and reads all of their content, for the tests of formats.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/container.h"
#include "core/formats/registry.h"

namespace recordfs::testing {

inline std::shared_ptr<const Source> memory_source(std::string_view bytes, const std::string& name = "") {
  return std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value(), name);
}

// Returns null if the format refuses the bytes.
inline std::unique_ptr<Container> open_as(const Format& format, std::string_view bytes, const Limits& limits = {}) {
  auto container = format.open({}, memory_source(bytes), limits);
  return container ? std::move(*container) : nullptr;
}

struct ScannedFile {
  std::vector<ChunkInfo> chunks;
  std::vector<DamagedRegion> damage;
  std::uint64_t steps = 0;
};

// Scans the whole file. Expects each step to succeed, and the scan to end.
inline ScannedFile scan_all(const Container& container) {
  constexpr std::uint64_t kMostSteps = 1u << 20;
  ScannedFile file;
  for (std::optional<ChunkKey> at = container.traits().first; at; ++file.steps) {
    auto step = container.scan({}, *at);
    if (!step || file.steps == kMostSteps) {
      ADD_FAILURE() << (step ? "the scan does not end" : to_string(step.error()));
      break;
    }
    if (step->chunk) file.chunks.push_back(*step->chunk);
    for (DamagedRegion& region : step->damage) file.damage.push_back(std::move(region));
    at = step->next;
  }
  return file;
}

// Returns the records of a chunk, each with its bytes or why they cannot be read. Fails if the chunk cannot be decoded.
inline Result<std::vector<Result<std::string>>> records_in(const Container& container, const ChunkInfo& info) {
  ASSIGN_OR_RETURN(const auto chunk, container.decode({}, info));
  std::vector<Result<std::string>> records;
  for (std::uint64_t i = 0; i < chunk->layout().records(); ++i) {
    const Error* const failure = chunk->layout().failure(i);
    const Extent extent = chunk->layout().extent(i);
    auto bytes = failure != nullptr ? Result<Slice>(*failure) : chunk->read({}, extent.begin, extent.size);
    records.push_back(bytes ? Result<std::string>(std::string(as_text(bytes->bytes))) : std::move(bytes).error());
  }
  return records;
}

// The same, where "!" and the reason stand for each record that cannot be read.
inline std::vector<std::string> texts_in(const Container& container, const ChunkInfo& info) {
  const auto records = records_in(container, info);
  if (!records) return {static_cast<std::size_t>(info.records.value_or(0)), "!" + records.error().detail};
  std::vector<std::string> texts;
  for (const auto& record : *records) texts.push_back(record ? *record : "!" + record.error().detail);
  return texts;
}

}  // namespace recordfs::testing
