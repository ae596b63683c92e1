// Makes blob files for tests, and reads the content of a container.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/protobuf.h"
#include "core/formats/container.h"
#include "core/formats/rocksdb_blob/format.h"
#include "core/hash/crc32c.h"
#include "tests/unit/formats/container_reading.h"

namespace recordfs::rocksdb_blob {

enum Compression : std::uint8_t { kNone = 0, kSnappy = 1, kZlib = 2, kBzip2 = 3, kLz4 = 4, kZstd = 7 };

inline std::string number(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

inline std::string checksum(const std::string& bytes) { return number(mask_crc(crc32c(as_bytes(bytes))), 4); }

inline std::string head(std::uint8_t compression = kNone, std::uint32_t family = 0) {
  return number(0x00248f37, 4) + number(1, 4) + number(family, 4) + number(0, 1) + number(compression, 1) +
         std::string(16, '\0');
}

inline std::string sizes(std::uint64_t key, std::uint64_t value) {
  return number(key, 8) + number(value, 8) + number(0, 8);
}

// `value`: as stored.
inline std::string record(const std::string& key, const std::string& value) {
  const std::string front = sizes(key.size(), value.size());
  return front + checksum(front) + checksum(key + value) + key + value;
}

inline std::string footer(std::uint64_t records) {
  const std::string content = number(0x00248f37, 4) + number(records, 8) + std::string(16, '\0');
  return content + checksum(content);
}

inline std::string varint(std::uint64_t value) {
  std::string out;
  protobuf::append_varint(out, value);
  return out;
}

// Returns a record as it is shown.
inline std::string shown(const std::string& key, const std::string& value) {
  return varint(key.size()) + key + varint(value.size()) + value;
}

inline std::unique_ptr<Container> open_bytes(const std::string& bytes, const Limits& limits = {}) {
  return testing::open_as(kFormat, bytes, limits);
}

struct Reading {
  std::vector<ChunkInfo> chunks;  // without those of no records
  std::vector<DamagedRegion> damage;
  std::vector<std::string> records;  // "!" for an unreadable one
  std::vector<Error> errors;         // of chunks and records
};

inline void read_chunk(const Container& container, const ChunkInfo& info, Reading& reading) {
  const auto records = testing::records_in(container, info);
  if (!records) {
    reading.errors.push_back(records.error());
    reading.records.insert(reading.records.end(), static_cast<std::size_t>(info.records.value_or(0)), "!");
    return;
  }
  for (const auto& record : *records) {
    if (!record) reading.errors.push_back(record.error());
    reading.records.push_back(record.value_or("!"));
  }
}

inline Reading read_bytes(const std::string& bytes, const Limits& limits = {}) {
  Reading reading;
  const auto container = open_bytes(bytes, limits);
  if (!container) return reading;
  testing::ScannedFile file = testing::scan_all(*container);
  reading.damage = std::move(file.damage);
  for (const ChunkInfo& info : file.chunks) {
    read_chunk(*container, info, reading);
    if (info.records != 0u) reading.chunks.push_back(info);
  }
  return reading;
}

}  // namespace recordfs::rocksdb_blob
