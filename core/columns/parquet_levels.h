// Repetition and definition levels, and the encoding that Parquet has for them and for indices of a dictionary:
// https://parquet.apache.org/docs/file-format/nestedencoding/,
// https://parquet.apache.org/docs/file-format/data-pages/encodings/
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/columns/arrow_interface.h"

namespace recordfs {

// A column of Parquet: a field without fields of its own, in the tree of all fields.
struct ParquetLeaf {
  // A field on the way to the leaf, in the field before it.
  struct Step {
    std::size_t child = 0;  // its index there
    bool is_nullable = false;
    bool is_list = false;  // the next field is its item
  };
  std::vector<Step> path{};
  std::vector<std::string> names{};  // of the Parquet schema, on the way to the leaf
  std::string format{};              // of the values: ArrowField::format
  std::uint8_t most_definition = 0;  // the definition level of a value
  std::uint8_t most_repetition = 0;
};

// The levels of a leaf in a batch, and the values.
struct LeafLevels {
  std::vector<std::uint8_t> repetition{};
  std::vector<std::uint8_t> definition{};
  std::vector<std::int64_t> values{};   // their indices in `column`, in order
  const ArrowColumn* column = nullptr;  // in the batch
};

// Returns the levels of a leaf in a batch, which must outlive them. Throws std::bad_alloc. Thread-safe.
LeafLevels levels_of(const ParquetLeaf& leaf, const ArrowColumn& batch);

// Returns whether a value is not null.
bool is_valid(const ArrowColumn& column, std::int64_t index);

// Returns the number of bits that numbers up to `most` need.
unsigned bits_for(std::uint32_t most);

// Append the numbers in the hybrid of run-length encoding and bit packing, each with `bits` bits; the first without and
// the second with the size in front, as a data page has levels. Throw std::bad_alloc.
void append_hybrid(std::string& out, std::span<const std::uint32_t> numbers, unsigned bits);
void append_levels(std::string& out, std::span<const std::uint8_t> levels, unsigned bits);

}  // namespace recordfs
