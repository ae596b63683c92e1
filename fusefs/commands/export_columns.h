// Finds the columns of what is exported, by the first records of a data set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/columns/row_schema.h"
#include "core/decoding/descriptor_set.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/set_reader.h"

namespace recordfs {

class TableColumns;

// Returns whether the first readable record has columns, as RowReader finds them; true if no record is readable. Prints
// nothing.
bool has_columns(SetReader& reader, const UserTypes& types, const Limits& limits);

// Which columns, as the command line says.
struct ColumnChoice {
  ColumnSelection selection{};
  bool lists = false;  // of features, as RowSources
};

struct FoundTable {
  std::shared_ptr<const RowSchema> schema{};  // null: the records have no columns
  std::shared_ptr<const TableColumns> columns{};
};
// Returns the columns of a table of the records in some ranges, or of all records if there is none, or the selected
// ones: of event files and of wandb's runs those of their scalars. Records of unknown type have no columns, unless
// has_columns() says otherwise. Fails as RowSchema::find() and TableColumns::of(). Prints nothing.
Result<FoundTable> find_table(SetReader& reader, const std::vector<Range>& ranges, bool has_columns,
                              const ColumnChoice& choice, const UserTypes& types, const Limits& limits);

}  // namespace recordfs
