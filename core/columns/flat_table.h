// Writes FlatBuffers: https://flatbuffers.dev/internals/
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/append.h"

namespace recordfs {

// A table, with everything in it. Slots number the fields of the table's type from 0. A value equal to the type's
// default may be stored, too. Functions throw std::bad_alloc. Not thread-safe.
class FlatTable {
 public:
  static constexpr std::size_t kAlignment = 8;  // of a buffer, in bytes

  // Sets a field: a number, or bool as std::uint8_t.
  template <class Number>
  FlatTable& number(std::size_t slot, Number value) {
    Field& field = add(slot, Kind::kNumber);
    field.size = sizeof(Number);
    append_le(field.bytes, static_cast<std::make_unsigned_t<Number>>(value));
    return *this;
  }
  FlatTable& text(std::size_t slot, std::string value);
  FlatTable& table(std::size_t slot, FlatTable value);
  FlatTable& tables(std::size_t slot, std::vector<FlatTable> values);
  // Sets a vector of `count` structs of 64-bit numbers, which `bytes` has.
  FlatTable& structs(std::size_t slot, std::size_t count, std::string bytes);

  // Returns the buffer with this as its root table. Its size is a multiple of kAlignment.
  std::string buffer() const;

 private:
  enum class Kind : std::uint8_t { kNumber, kText, kTable, kTables, kStructs };
  struct Field {
    std::size_t slot = 0;
    Kind kind{};
    std::size_t size = 4;   // bytes in the table
    std::size_t count = 0;  // of structs
    std::string bytes{};
    std::vector<FlatTable> children{};
  };

  Field& add(std::size_t slot, Kind kind);
  std::size_t write(std::string& out) const;
  static std::size_t write_content(std::string& out, const Field& field);

  std::vector<Field> fields_;  // in the order of calls
};

}  // namespace recordfs
