// Decodes protobuf messages into columns of Arrow, one for each field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/protobuf.h"
#include "core/base/result.h"
#include "core/columns/arrow_interface.h"
#include "core/decoding/message_schema.h"

namespace recordfs {

// Returns the type of a column with this field's values: numbers and bool; string and bytes as large_utf8 and
// large_binary; enums as large_utf8 with their names, or the digits of a number without one; messages as structs,
// unless they have a form of their own; what repeats as large_list. A message without fields is a bool, which is true,
// because Parquet has no structs without fields.
ArrowField arrow_field_of(const MessageField& field);

// Memory that columns may take, in bytes. Wire bytes may become many more bytes of columns.
class ColumnBudget {
 public:
  explicit ColumnBudget(std::uint64_t bytes) : left_(bytes) {}
  // Fails with kLimit.
  Result<void> take(std::uint64_t bytes);

 private:
  std::uint64_t left_;
};

// The values of one field. After a failed append, the builder must be truncated. Functions may throw std::bad_alloc.
// Not thread-safe.
class ColumnBuilder {
 public:
  // `field` and `budget` must outlive the builder.
  ColumnBuilder(const MessageField& field, ColumnBudget& budget)
      : ColumnBuilder(field, budget, field.is_repeated ? field.inner_lists + 1u : 0u) {}

  std::size_t size() const { return size_; }

  // Append a value. An absent value is null, or the default if the field has no presence, and so is the null of a list,
  // whose default is the empty one. REQUIRES: the field repeats for `append_list`, and does not for `append_absent`.
  Result<void> append_null();
  Result<void> append_absent();
  // The values that add_items() gave since the last value, or that were appended to items().
  Result<void> append_list();
  // REQUIRES: the field is a message that does not repeat.
  Result<void> append_message(Bytes message);
  // A number from its encoding: a varint, or the bits of a fixed size. REQUIRES: the field is a number, a bool or an
  // enum that does not repeat, or for 1 a message without fields.
  Result<void> append_number(std::uint64_t encoded);
  // REQUIRES: the field is a string or bytes that do not repeat, and a string is UTF-8.
  Result<void> append_text(Bytes text);

  // Adds the values of an occurrence of the field to the next list, whether packed or not; appends them if the field
  // does not repeat. Values of another wire type are ignored, as protobuf ignores unknown fields.
  Result<void> add_items(const protobuf::Field& field, Bytes content);

  // Drops all values after the first `size`. REQUIRES: size <= size().
  void truncate(std::size_t size);

  // Takes all values.
  ArrowColumn finish();

  // Of a list: the builder of its items, which are lists if the field has lists in lists.
  ColumnBuilder& items() { return children_.front(); }
  // Of a message: returns the builder of a field; null if there is none.
  ColumnBuilder* child(std::uint32_t number);
  ColumnBuilder& child_at(std::size_t index) { return children_[index]; }
  // Of a message: completes a value after each child has one more.
  void complete_row() { note(true); }

 private:
  // The last occurrence of a field that does not repeat.
  struct Occurrence {
    bool is_there = false;
    protobuf::Field field{};
    Bytes content{};
    std::string merged{};  // the content of several, of a message; of an entry of a map its key
  };

  // `lists`: how many lists a value is in.
  ColumnBuilder(const MessageField& field, ColumnBudget& budget, unsigned lists);

  Result<void> append_value(const protobuf::Field& field, Bytes content);
  Result<void> append_scalar(const protobuf::Field& field, Bytes content);
  // Append a message that has a form of its own.
  Result<void> append_wrapped(Bytes message);
  Result<void> append_formed(Bytes message);
  Result<void> add_packed(Bytes content);
  // Appends numbers as Arrow and the wire both have them: little-endian, of one size.
  Result<void> append_fixed(Bytes numbers, std::size_t width);
  Result<void> read_fields(Bytes message);
  void keep(std::size_t child, const protobuf::Field& field, Bytes content);
  // Of a map: keeps an entry, and adds those that were kept, of several with one key the last.
  Result<void> keep_entry(const protobuf::Field& field, Bytes entry);
  Result<void> add_entries();
  template <class Number>
  void push(Number number);
  void note(bool is_valid);
  void note_valid(std::size_t count);

  const MessageField& field_;
  ColumnBudget& budget_;
  const bool is_list_;
  std::size_t size_ = 0;
  std::size_t nulls_ = 0;
  std::vector<std::uint8_t> validity_;  // bits
  std::vector<std::byte> values_;       // numbers, text, or bits
  std::vector<std::int64_t> offsets_;   // of text and lists
  std::vector<ColumnBuilder> children_;
  std::vector<Occurrence> found_;  // of each child; of a map the entries
};

}  // namespace recordfs
