// Writes uncompressed tables for tests: blocks of unshortened keys, an index, a footer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recordfs::leveldb_table {

using Entries = std::vector<std::pair<std::string, std::string>>;

// Returns the internal key that a database stores for a user key.
std::string internal_key(std::string_view key, std::uint64_t sequence, std::uint8_t type);

class TableWriter {
 public:
  void add(const Entries& entries);
  // Returns the data blocks written so far.
  const std::string& blocks() const { return file_; }
  // Returns the whole table. Call once.
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
