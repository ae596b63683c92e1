// KeyNames: names.tsv in a directory of keys. It has a row for each listed key whose file name differs from the key.
// There may be very many rows, so they are generated when read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/store/key_table.h"

namespace recordfs {

// Names that the directories of keys reserve. A key with such a name gets another file name.
inline constexpr std::string_view kKeyNamesFile = "names.tsv";
inline constexpr std::string_view kKeyFamiliesName = "column-families";

std::string key_file_name(std::string_view key, std::uint64_t number);

// Immutable and thread-safe.
class KeyNames {
 public:
  // Iterates over all keys of the family.
  KeyNames(std::shared_ptr<const KeyTable> table, std::uint32_t family);

  // Returns the size in bytes. 0 means that there are no rows, and so no file.
  std::uint64_t size() const { return size_; }
  // Returns up to `length` bytes from `offset`, and fewer only at the end. Fails with kOutOfMemory.
  Result<Slice> read(std::uint64_t offset, std::uint64_t length) const;

 private:
  // Returns an empty string for a key that equals its name.
  std::string row(std::size_t place) const;

  const std::shared_ptr<const KeyTable> table_;
  const KeyTable::Places places_;
  std::vector<std::uint64_t> block_begins_;  // positions of every 256th key's row in the file
  std::uint64_t size_ = 0;
};

}  // namespace recordfs
