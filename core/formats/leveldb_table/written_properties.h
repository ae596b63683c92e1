// The properties of a RocksDB table that is written. FORMAT.md, "What is written". Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/container.h"

namespace recordfs::leveldb_table {

// What the properties of a table count.
struct TableCounts {
  std::uint64_t entries = 0;    // with range deletions, as in RocksDB
  std::uint64_t deletions = 0;  // likewise
  std::uint64_t merges = 0;
  std::uint64_t range_deletions = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t data_blocks = 0;
  std::uint64_t data_bytes = 0;   // of all data blocks, with trailers
  std::uint64_t index_bytes = 0;  // of the index, with its trailer

  void add(const TableCounts& other);
};

using PropertyMap = std::map<std::string, std::string, std::less<>>;

// Says that a table has values between its data blocks.
inline constexpr std::string_view kEmbeddedBlobs = "rocksdb.embedded.blob.stats";

// Returns the properties of another table that hold for one with the same entries in other blocks: the comparator, by
// default that of bytes, the column family, the origin, those of applications, and kEmbeddedBlobs.
PropertyMap properties_kept(const std::vector<Attribute>& properties);

// Returns all properties of a table with these counts, sorted by name.
PropertyMap properties_of(const TableCounts& counts, PropertyMap kept);

}  // namespace recordfs::leveldb_table
