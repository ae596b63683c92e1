// Records as a stream of Arrow's C interface: https://arrow.apache.org/docs/format/CStreamInterface.html
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/columns/row_schema.h"
#include "core/columns/selected_columns.h"
#include "core/dataset/opened_set.h"
#include "core/dataset/record_stream.h"

namespace recordfs::python {

// Returns a capsule "arrow_array_stream" with the columns ordinal, shard, offset and index of int64, and data of
// large_binary; with a schema, its struct instead of data. What is damaged ends the stream with an error if `on_damage`
// is "raise", and is skipped otherwise, with a warning if it is "report"; a record that cannot be decoded is a null
// then. Any thread may read the stream, with or without the GIL.
pybind11::capsule arrow_stream(std::shared_ptr<OpenedSet> set, RecordStream::Options options,
                               const std::string& on_damage, std::shared_ptr<const RowSchema> schema);

// The columns that a ColumnReader reads.
struct WantedColumns {
  std::vector<std::string> names{};  // none: all
  bool lists = false;                // each feature of an Example is a list
  bool scans = false;                // all records decide which columns there are, and not only the first
};

// The records that a ColumnReader reads, the schema of their rows, and the columns that it returns.
struct ColumnRows {
  RecordStream::Options options{};
  SelectedColumns columns{};
  std::shared_ptr<const RowSchema> schema{};
  SelectScalar selects{};
};

// Finds them for some records. Throws Python's exceptions.
using MakeColumnReader =
    std::function<ColumnRows(const std::shared_ptr<OpenedSet>& set, OrdinalInterval ordinals,
                             const std::optional<std::string>& condition, const WantedColumns& wanted)>;

// Return a type as (name, format, children), and values as (length, null_count, buffers, children). A missing buffer is
// None.
pybind11::tuple tuple_of(const ArrowField& field);
pybind11::tuple tuple_of(const ArrowColumn& column);

// Defines the class ColumnReader: field() is the schema as nested tuples, and next() returns rows as tuples with the
// buffers of Arrow's columns, or None at the end.
void define_column_reader(pybind11::module_& module, const MakeColumnReader& make);

}  // namespace recordfs::python
