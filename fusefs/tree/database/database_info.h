// info.json of a database, and what its table for people shares with it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/database/database.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

struct FileTotals {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;

  void add(const database::File& file) {
    ++files;
    bytes += file.size;
  }
};

// The live files of a database that are present, by kind, and tables by level.
struct LiveFiles {
  std::map<std::uint32_t, FileTotals> levels{};
  FileTotals logs{}, blobs{}, all{};

  explicit LiveFiles(const std::vector<database::File>& files);
};

// Returns whether keys or newer values may be lost.
bool loses_data(const std::vector<database::Problem>& problems);

// Returns the summary as an object: format, manifest, sequence number, column families, files by level, problems.
JsonObject database_info(const database::Database& database);

}  // namespace recordfs
