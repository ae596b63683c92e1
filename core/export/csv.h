// Writes tables as text: CSV (RFC 4180), TSV, which is the same with tabs, and JSON Lines.
#pragma once

#include <memory>

#include "core/columns/arrow_interface.h"
#include "core/columns/table_writer.h"
#include "core/decoding/json_writer.h"
#include "core/export/mixed_bytes.h"

namespace recordfs {

struct CsvOptions {
  char separator = ',';
  std::string_view line_end = "\r\n";
  ByteForm bytes = ByteForm::kAuto;     // of bytes, in cells and in JSON
  std::shared_ptr<MixedBytes> mixed{};  // null: both forms of kAuto may be in a column
};

// Begins a file. `root` is a struct; the first line has the names of its fields. A null is an empty cell, and an empty
// text is "" in quotes, as is a null of the only column. Numbers have the fewest digits that reproduce them; NaN and
// the infinities are words. Lists and structs are JSON, as RowReader writes it. Bytes are text if they are UTF-8, and
// otherwise base64, unless a ByteForm chooses one form for all; the end fails as MixedBytes::check(). `sink` must
// outlive the writer. Fails with kUnsupported if `root` has a type that is not listed at arrow_field_of().
Result<std::unique_ptr<TableWriter>> open_csv(ByteSink& sink, const ArrowField& root, const CsvOptions& options);

// The same with an object for each row, as RowReader writes it: without the columns that are null.
Result<std::unique_ptr<TableWriter>> open_json_lines(ByteSink& sink, const ArrowField& root, const CsvOptions& options);

}  // namespace recordfs
