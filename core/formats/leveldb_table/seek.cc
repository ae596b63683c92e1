#include "core/formats/leveldb_table/seek.h"

namespace recordfs::leveldb_table {

std::optional<BlockIterator> BlockIterator::over(Bytes content, const Dialect& dialect) {
  const auto extents = split_content(content, dialect.is_rocksdb);
  if (!extents) return std::nullopt;
  return BlockIterator(*extents);
}

void BlockIterator::next() {
  for (is_valid_ = false; !reader_.at_end();) {
    if (const auto entry = reader_.next()) {
      key_.resize(static_cast<std::size_t>(entry->shared));
      key_ += as_text(entry->suffix);
      value_ = entry->value;
      is_valid_ = true;
      return;
    }
    has_skipped_ = true;
    if (!reader_.go_to_restart()) return;
  }
}

void BlockIterator::go_to(std::size_t restart) {
  reader_.go_to(restart);
  next();
}

std::optional<std::string> last_key_of(Bytes content, const Dialect& dialect) {
  std::optional<std::string> last;
  auto entries = BlockIterator::over(content, dialect);
  for (; entries && entries->is_valid(); entries->next()) last = as_text(entries->key());
  return last;
}

}  // namespace recordfs::leveldb_table
