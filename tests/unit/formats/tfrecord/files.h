// Makes TFRecord files for tests, and reads the content of a container.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/formats/container.h"
#include "core/formats/tfrecord/format.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {

inline std::string number(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

inline std::string with_checksum(const std::string& bytes) {
  return bytes + number(mask_crc(crc32c(as_bytes(bytes))), 4);
}

inline std::string framed(const std::string& data) {
  return with_checksum(number(data.size(), 8)) + with_checksum(data);
}

inline std::shared_ptr<const Source> source_of(const std::string& bytes) {
  return std::make_shared<MemorySource>(Buffer::copy_of({}, as_bytes(bytes)).value());
}

struct Reading {
  std::vector<ChunkInfo> chunks;
  std::vector<DamagedRegion> damage;
  std::vector<std::string> records;  // "!" for an unreadable one
};

inline Reading read_bytes(const std::string& bytes, const Limits& limits = {}) {
  Reading reading;
  const auto container = kFormat.open({}, source_of(bytes), limits);
  if (!container) return reading;
  std::uint64_t steps = 0;
  for (std::optional<ChunkKey> at = (*container)->traits().first; at;) {
    if (steps++ > bytes.size()) {
      ADD_FAILURE() << "the scan does not end";
      return reading;
    }
    const auto step = (*container)->scan({}, *at);
    if (!step) return reading;
    for (const DamagedRegion& region : step->damage) reading.damage.push_back(region);
    if (step->chunk) reading.chunks.push_back(*step->chunk);
    at = step->next;
  }
  for (const ChunkInfo& info : reading.chunks) {
    const auto chunk = (*container)->decode({}, info);
    for (std::uint64_t i = 0; chunk && i < (*chunk)->layout().records(); ++i) {
      const Extent extent = (*chunk)->layout().extent(i);
      const bool is_good = (*chunk)->layout().failure(i) == nullptr;
      reading.records.push_back(is_good ? std::string(as_text((*chunk)->read({}, extent.begin, extent.size)->bytes))
                                        : "!");
    }
  }
  return reading;
}

}  // namespace recordfs::tfrecord
