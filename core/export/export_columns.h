// Finds the columns of what is exported, by the first records of a data set: all parts of a set have the same columns.
// Also finds the type that a file states.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/columns/row_schema.h"
#include "core/dataset/reporter.h"
#include "core/dataset/set_reader.h"
#include "core/decoding/descriptor_set.h"
#include "core/export/export_format.h"
#include "core/store/record_store.h"

namespace recordfs {

class TableColumns;

// Which columns, as the command line says.
struct ColumnChoice {
  ColumnSelection selection{};
  bool lists = false;  // of features, as RowSources
  bool scans = false;  // all records decide, and not only the first
};

struct FoundColumns {
  bool has_columns = false;                     // of the records
  std::shared_ptr<const RowSchema> schema{};    // null: the records have no columns, or no schema describes them
  std::shared_ptr<const TableColumns> table{};  // null: rows are no table
  std::string undescribed{};                    // the type of records that have no columns; empty: unknown
};
// Returns the columns of the records of a set: those of its first 1,024 readable ones, or of all. Event files and runs
// of wandb have those of their scalars, in a table also if none is wanted, and so have records with paths that are
// selected. Only rows that are no table can have columns without a schema. The records have none if ordinal and data
// are selected and they lack one of these. Fails as RowSchema::find(), but not for records without columns, unless the
// user names their type, and as SelectedColumns::of(). Prints nothing.
Result<FoundColumns> find_columns(SetReader& reader, bool is_table, const ColumnChoice& choice, const UserTypes& types,
                                  const Limits& limits);

// Returns TableColumns::no_scalars(); 0 for null. Thread-safe.
std::uint64_t values_without_row(const TableColumns* table);

// Takes over the type of the records that the containers with records state, its descriptors, and the comment on the
// file, if all state the same. If none has records, takes over what the first states. Damaged metadata are left out.
// Returns whether they state the same; if not, nothing is taken over. nullopt after reporting an error that may pass.
std::optional<bool> take_record_type(SetReader& reader, Reporter& reporter, EncoderOptions& encoding);

}  // namespace recordfs
