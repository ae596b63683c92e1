// The columns that are wanted of all that records have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Takes a name from the begin of a text: up to a comma, or one in quotes, `a,b` or "a,b", in which the same quote is
// doubled. Fails with kUnsupported if a quote has no end, or something else than a comma follows it. Thread-safe.
Result<std::string> take_name(std::string_view& text);

// Immutable. Functions are thread-safe.
class ColumnSelection {
 public:
  // All columns.
  ColumnSelection() = default;

  // Returns the columns with these names, in this order. Fails with kUnsupported if there is none, or one twice.
  static Result<ColumnSelection> of(std::vector<std::string> names);
  // The same for names that commas separate. Fails also as take_name(), and if a name before a comma is missing.
  static Result<ColumnSelection> parse(std::string_view text);

  bool is_all() const { return names_.empty(); }
  bool wants(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }  // none: all

  // Fails with kUnsupported if a selected name is not among those of the records; the detail names similar ones.
  Result<void> check(const std::vector<std::string>& of_records) const;

 private:
  explicit ColumnSelection(std::vector<std::string> names) : names_(std::move(names)) {}

  std::vector<std::string> names_;
};

}  // namespace recordfs
