// Groups of records as rows of a table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/columns/row_schema.h"
#include "core/columns/selected_columns.h"
#include "core/columns/table_writer.h"
#include "core/export/grouped_file.h"

namespace recordfs {

// The columns of a table: those of the records, or some of them, or ordinal and data.
class TableColumns {
 public:
  // `schema` is null if the records have no columns. Fails as SelectedColumns::of().
  static Result<TableColumns> of(std::shared_ptr<const RowSchema> schema, const ColumnSelection& selection);

  // Returns a struct with the columns as fields.
  const ArrowField& root() const { return columns_.root(); }
  // Returns the number of columns in memory, selected or not, with the fields of structs as columns. At least 1.
  std::size_t leaves() const { return leaves_; }
  // Returns how many values of the records of all groups are no scalars (LeftOut), and have no row.
  std::uint64_t no_scalars() const { return *no_scalars_; }

  // Returns the rows of a group, without the records that cannot be decoded, which it adds to `failures`; the first one
  // ends the rows unless `skips_failures`. Throws std::bad_alloc. Thread-safe.
  std::vector<ArrowColumn> rows_of(const RecordGroup& group, bool skips_failures,
                                   std::vector<RowFailure>& failures) const;

 private:
  std::shared_ptr<const RowSchema> schema_;
  SelectedColumns columns_;
  std::size_t leaves_ = 1;
  std::shared_ptr<std::atomic<std::uint64_t>> no_scalars_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

// `writer` must have been opened with the columns' root, and write to a sink that outlives the result. The rows are
// those of TableColumns::rows_of(); their number is added to `counted`, unless that is null, when they are appended.
std::unique_ptr<GroupEncoder> table_groups(std::shared_ptr<const TableColumns> columns,
                                           std::unique_ptr<TableWriter> writer, bool skips_failures,
                                           std::uint64_t* counted);

}  // namespace recordfs
