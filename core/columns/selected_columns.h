// The columns of rows that are wanted, also those inside structs and lists.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/columns/arrow_interface.h"
#include "core/columns/column_selection.h"

namespace recordfs {

// Immutable. Functions are thread-safe.
class SelectedColumns {
 public:
  // No columns.
  SelectedColumns() = default;

  // Returns the selected columns of a struct, in the order of the selection. A column of a path has the name that was
  // given. It is a list if any part of the path is one: of the values in all elements, with null for an element that
  // has none. Fails with kUnsupported if there is no such column, or if a path leads to several.
  static Result<SelectedColumns> of(ArrowField root, const ColumnSelection& selection);

  // Returns a struct with the columns as fields.
  const ArrowField& root() const { return root_; }

  // Returns the columns of rows of the struct. Shares the memory of what it does not change. Throws std::bad_alloc.
  ArrowColumn select(ArrowColumn rows) const;

 private:
  // A field, and the index of each part of its path.
  struct Selected {
    ArrowField field{};
    std::vector<std::size_t> path{};
  };
  class Finder;

  ArrowField whole_{};                // before the selection
  ArrowField root_{};                 // with the selected columns
  std::vector<Selected> selected_{};  // none: all
};

}  // namespace recordfs
