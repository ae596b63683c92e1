// The names.tsv beside keys: a row for each listed key whose name is not the key itself. There may be very many, so it
// is made where it is read.
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

// Names in directories of keys that are no key's: a key that is called so has another name.
inline constexpr std::string_view kKeyNamesFile = "names.tsv";
inline constexpr std::string_view kKeyFamiliesName = "column-families";

// The name of a key's file.
std::string key_file_name(std::string_view key, std::uint64_t number);

// Immutable; any thread.
class KeyNames {
 public:
  // Goes through all keys of the family.
  KeyNames(std::shared_ptr<const KeyTable> table, std::uint32_t family);

  // Bytes of the file; 0: there are no rows, and there is no file.
  std::uint64_t size() const { return size_; }
  // Up to `length` bytes from `offset`: fewer only at its end. Fails with kOutOfMemory.
  Result<Slice> read(std::uint64_t offset, std::uint64_t length) const;

 private:
  // Nothing for a key that is its name.
  std::string row(std::size_t place) const;

  const std::shared_ptr<const KeyTable> table_;
  const KeyTable::Places places_;
  std::vector<std::uint64_t> block_begins_;  // where the rows of so many keys begin in the file
  std::uint64_t size_ = 0;
};

}  // namespace recordfs
