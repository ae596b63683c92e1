// Reads everything from a container: the complete scan, and every readable record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/container.h"
#include "tests/unit/formats/container_reading.h"

namespace recordfs::riegeli {

std::unique_ptr<Container> open_bytes(std::string_view bytes, const Limits& limits = {});

using Walk = testing::ScannedFile;

inline Walk walk(const Container& container, std::uint64_t) { return testing::scan_all(container); }

struct ReadRecord {
  Position chunk_begin = 0;
  std::uint64_t index = 0;
  std::string bytes;
  bool operator==(const ReadRecord&) const = default;
};

struct Reading {
  std::vector<ReadRecord> records;
  std::vector<Error> errors;  // one for each chunk that cannot be decoded
};

Reading read_all(const Container& container, const std::vector<ChunkInfo>& chunks);

// Returns the records of one chunk, or the reason why it has none.
Result<std::vector<std::string>> records_of(const Chunk& chunk);

// Scans and reads a file in memory.
Reading read_file(std::string_view bytes, const Limits& limits = {});

}  // namespace recordfs::riegeli
