// Finds entries by key: within a block, by its restart points.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

// Iterates over the entries of a block. Bytes that are not an entry are skipped up to the next restart point. One
// thread. The content must outlive it.
class BlockIterator {
 public:
  // Returns an iterator at the first entry, nullopt if the content is not a block of entries.
  static std::optional<BlockIterator> over(Bytes content, const Dialect& dialect);

  // Moves to the first entry for whose key `is_before` returns false. REQUIRES: the keys are sorted so that those for
  // which it returns true come first; otherwise the place is unspecified.
  template <class IsBefore>
  void seek(const IsBefore& is_before) {
    std::size_t low = 0;
    for (std::size_t high = reader_.restarts(); high - low > 1;) {
      const std::size_t middle = low + (high - low) / 2;
      go_to(middle);
      (is_valid_ && is_before(key()) ? low : high) = middle;
    }
    go_to(low);
    while (is_valid_ && is_before(key())) next();
  }

  // Returns whether there is a current entry, not the end.
  bool is_valid() const { return is_valid_; }
  // Returns whether bytes were skipped so far.
  bool has_skipped() const { return has_skipped_; }
  void next();

  // Of the current entry. The key is valid until the next move. REQUIRES: is_valid().
  Bytes key() const { return as_bytes(key_); }
  Bytes value() const { return value_; }

 private:
  explicit BlockIterator(const Extents& extents) : reader_(extents) { next(); }
  void go_to(std::size_t restart);

  EntryReader reader_;
  std::string key_;
  Bytes value_;
  bool is_valid_ = false;
  bool has_skipped_ = false;
};

// Returns the last key of a block; nullopt if it has none, or is not a block of entries. Any thread.
std::optional<std::string> last_key_of(Bytes content, const Dialect& dialect);

}  // namespace recordfs::leveldb_table
