// Columns of records without a stated type, by the values of the first ones: the Values of a format, and JSON texts.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/columns/column_selection.h"
#include "core/decoding/message_schema.h"
#include "core/formats/json_text.h"
#include "core/formats/value.h"

namespace recordfs {

// A text that is one JSON value.
struct JsonRecord {
  JsonValue tree{};
  Value value{};  // points into `tree`
};

// Returns a record that json_of_record() accepts and that is an object. An integer is std::int64_t or std::uint64_t,
// NaN and the infinities are double. Fails with kDamage for any other record, and with kUnsupported if a number is out
// of the range of its type. Thread-safe.
// Parts that are not selected are null, whatever they are.
Result<JsonRecord> json_record(Bytes record, const ColumnSelection& selection = {});

// The columns are the members: bool, int64, or uint64 if a value needs it, double, text, bytes,
// structs for objects, and lists of these. Null is a value of any column, and so are an empty list and an empty object,
// which are null if the column is of another type. A column without values is a text, or a list of texts if it has an
// empty list; a member whose objects are all {} is no column. Integers and fractions together are double if that is
// exact for each. First add() the records that define the columns, then finish(), then message_of() for each record.
// Parts that are not selected may have any values, and a value that a path would lead through is none if it is no
// object. Not thread-safe, but for message_of().
class ValueColumns {
 public:
  explicit ValueColumns(ColumnSelection selection = {}) : selection_(std::move(selection)) {}

  // Adds the columns of a record. Fails with kUnsupported if it is no object, or has a message, a list in a list or a
  // null in a list; with kLimit if there are too many columns.
  Result<void> add(const Value& record);
  // Returns the columns, in the order of their first members. Fails with kUnsupported if a column has values of
  // different types, or if there are no columns, and as ColumnSelection::check(). Errors name the column.
  Result<std::vector<MessageField>> finish();

  // Returns a record as a message with the fields that finish() returned. Fails with kDamage if the record has a value
  // that is in no column or of another type, or a member twice. Thread-safe.
  Result<std::string> message_of(const Value& record) const;

 private:
  struct Column {
    std::map<std::string, std::size_t, std::less<>> names{};  // of `columns`
    std::vector<Column> columns{};                            // of an object
    std::string path{};
    MessageField field{};  // after finish(), without the columns
    // The kinds of its values.
    bool is_list = false;
    bool is_single = false;
    bool has_empty_lists = false;
    bool has_bools = false;
    bool has_integers = false;
    bool has_negative = false;
    bool has_large = false;    // integers that need std::uint64_t
    bool has_inexact = false;  // integers that no double has
    bool has_fractions = false;
    bool has_texts = false;
    bool has_bytes = false;
    bool has_objects = false;
  };
  class Collector;
  class Encoder;

  static Result<FieldType> type_of(const Column& column);
  static Result<std::vector<MessageField>> fields_of(Column& parent);
  void add_paths(const Column& parent, std::vector<std::string>& paths) const;

  const ColumnSelection selection_;
  std::vector<std::string> others_;  // paths of what is not selected, each once
  Column root_;
  std::size_t count_ = 0;  // of columns
};

}  // namespace recordfs
