// Columns of records without a stated type, by the values of the first ones: the Values of a format, and JSON texts.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/columns/column_builder.h"
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

// Returns a record that json_of_record() returns and that is an object; nullopt for any other record. An integer is
// std::int64_t or std::uint64_t, NaN and the infinities are double. Parts that are not selected are null, whatever they
// are. Fails as json_of_record(), and with kUnsupported if a number is out of the range of its type. Thread-safe.
Result<std::optional<JsonRecord>> json_record(Bytes record, const ColumnSelection& selection = {});

// The columns are the members: bool, int64, or uint64 if a value needs it, double, text, bytes,
// structs for objects, and lists of these, also in lists. Null is a value of any column, and so are an empty list and
// an empty object, which are null if the column is of another type. A column without values is a text, or a list of
// texts if it has an empty list; one whose objects are all {} is a message without fields. Integers and fractions
// together are double if that is exact for each integer. First add() the records that define the columns, then
// finish(), then append() each record. Parts that are not selected may have any values, and a value that a path would
// lead through is null if it is no object. Not thread-safe, but for append().
class ValueColumns {
 public:
  explicit ValueColumns(ColumnSelection selection = {}) : selection_(std::move(selection)) {}

  // Adds the columns of a record. Fails with kUnsupported if it is no object, or has a message, or more than 8 lists in
  // each other; with kLimit if there are too many columns.
  Result<void> add(const Value& record);
  // Returns whether a record had a column.
  bool has_columns() const { return !root_.columns.empty(); }
  // Returns the columns, in the order of their first members. Fails with kUnsupported if a column has values of
  // different types, or if there are no columns, and as ColumnSelection::check(). Errors name the column.
  Result<std::vector<MessageField>> finish();

  // Appends a record to the builder of a message with the fields that finish() returned. Fails with kUnsupported if the
  // record has a value that is in no column or of another type, or a member twice; the builder must then be truncated.
  // Thread-safe. Throws std::bad_alloc.
  Result<void> append(ColumnBuilder& builder, const Value& record) const;

 private:
  struct Column {
    std::map<std::string, std::size_t, std::less<>> names{};  // of `columns`
    std::vector<Column> columns{};                            // of an object
    std::string path{};
    std::string prefix{};                // of the paths of its columns
    MessageField field{};                // after finish(), without the columns
    std::optional<std::size_t> lists{};  // that each value is in; nullopt: no value is known
    std::size_t most_lists = 0;          // that are in each other
    std::size_t most_empty_lists = 0;    // the same of values without values, which are null in a column of single ones
    // The kinds of its values.
    bool has_several_depths = false;
    bool has_empty_objects = false;
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
  class Appender;

  static Result<FieldType> type_of(const Column& column);
  static Result<std::vector<MessageField>> fields_of(Column& parent);
  void add_paths(const Column& parent, std::vector<std::string>& paths) const;

  const ColumnSelection selection_;
  std::vector<std::string> others_;  // paths of what is not selected, each once
  Column root_;
  std::size_t count_ = 0;  // of columns
};

}  // namespace recordfs
