// Writes tables for tests, without compression: blocks of whole keys, an index, a footer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordfs::leveldb_table {

using Entries = std::vector<std::pair<std::string, std::string>>;

// What a database keeps a key as.
std::string internal_key(std::string_view key, std::uint64_t sequence, std::uint8_t type);

class TableWriter {
 public:
  void add(const Entries& entries);
  // What was written so far: data blocks.
  const std::string& blocks() const { return file_; }
  // The whole table. Call once.
  std::string finish();
  // The same as RocksDB writes it, in version 5 of its format, with these properties.
  std::string finish_rocksdb(const Entries& properties);

 private:
  std::string append(const std::string& content);
  std::string places(const Entries& meta_blocks);

  std::string file_;
  Entries index_;
};

}  // namespace recordfs::leveldb_table
