// BlockBuilder: makes the content of a block of entries. The counterpart of EntryReader. FORMAT.md, "Layout".
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"

namespace recordfs::leveldb_table {

// Not thread-safe.
class BlockBuilder {
 public:
  // `interval`: how many entries there are from one restart point to the next.
  explicit BlockBuilder(std::uint32_t interval) : interval_(interval) {}

  void add(Bytes key, Bytes value);
  bool empty() const { return entries_ == 0; }
  // Returns the size of the content so far, as LevelDB estimates it.
  std::uint64_t size() const { return content_.size() + restarts_.size() + sizeof(std::uint32_t); }
  // Returns the key that was added last. REQUIRES: !empty().
  const std::string& last_key() const { return last_key_; }

  // Returns the content, and begins another block.
  std::string take();

 private:
  const std::uint32_t interval_;
  std::string content_;
  std::string restarts_ = std::string(sizeof(std::uint32_t), '\0');  // the first entry is one
  std::string last_key_;
  std::uint32_t entries_ = 0;
};

}  // namespace recordfs::leveldb_table
