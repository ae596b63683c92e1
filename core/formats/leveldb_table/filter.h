// Bloom filters of a table. FORMAT.md, "Filters".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/bytes.h"

namespace recordfs::leveldb_table {

// A filter block. Immutable; any thread.
class Filter {
 public:
  // `kind` and `policy` are those of the meta index (MetaBlocks). Returns nullopt for a filter that recordfs does not
  // know, or that is invalid.
  static std::optional<Filter> of(Buffer content, std::string_view kind, std::string_view policy);

  // Returns false if the table has no entry with this key (without its sequence number) in the block that begins at
  // `block`.
  bool may_contain(Bytes key, Position block) const;

  std::size_t memory() const { return content_.size(); }

 private:
  enum class Form : std::uint8_t { kPerBlock, kWhole };
  Filter(Buffer content, Form form, bool is_rocksdb)
      : content_(std::move(content)), form_(form), is_rocksdb_(is_rocksdb) {}
  Bytes part_for(Position block) const;

  Buffer content_;
  Form form_;
  bool is_rocksdb_;
};

}  // namespace recordfs::leveldb_table
