// Makes TFRecord files for tests, and reads the content of a container.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/formats/container.h"
#include "core/formats/tfrecord/format.h"
#include "core/hash/crc32c.h"
#include "tests/unit/formats/container_reading.h"

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

inline std::shared_ptr<const Source> source_of(const std::string& bytes) { return testing::memory_source(bytes); }

struct Reading {
  std::vector<ChunkInfo> chunks;
  std::vector<DamagedRegion> damage;
  std::vector<std::string> records;  // "!" for an unreadable one
};

inline Reading read_bytes(const std::string& bytes, const Limits& limits = {}) {
  Reading reading;
  const auto container = testing::open_as(kFormat, bytes, limits);
  if (!container) return reading;
  testing::ScannedFile file = testing::scan_all(*container);
  for (const ChunkInfo& info : file.chunks) {
    const auto records = testing::records_in(*container, info);
    for (std::size_t i = 0; records && i < records->size(); ++i) reading.records.push_back((*records)[i].value_or("!"));
  }
  reading.chunks = std::move(file.chunks);
  reading.damage = std::move(file.damage);
  return reading;
}

}  // namespace recordfs::tfrecord
