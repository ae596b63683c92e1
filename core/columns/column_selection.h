// The columns that are wanted of all that records have.
//
// A name is that of a column, or a path: names joined by dots that lead through messages and objects, and through lists
// to each of their elements. Names may have dots themselves; a name that is that of a column and a path to another is
// an error. In an Example, the names are those of features, and paths such as
// "features.feature.label.int64_list.value".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Takes a name from the begin of a text: up to a comma, or one in quotes, `a,b` or "a,b", in which the same quote is
// doubled. Fails with kUnsupported if a quote has no end, or something else than a comma follows it. Thread-safe.
Result<std::string> take_name(std::string_view& text);

// The parts of a value that paths lead to. Refers to the texts of the paths. Immutable; functions are thread-safe.
class WantedParts {
 public:
  // All of the value.
  WantedParts() = default;
  // REQUIRES: there is a path.
  explicit WantedParts(std::vector<std::string_view> paths) : paths_(std::move(paths)) {}

  bool is_all() const { return paths_.empty(); }
  // Returns the parts of a member that are wanted; nullopt if none is.
  std::optional<WantedParts> member(std::string_view name) const;

 private:
  std::vector<std::string_view> paths_;
};

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
  // Returns whether a column of this name is wanted as a whole.
  bool wants(std::string_view name) const;
  // Returns the parts of a record that are wanted. This must outlive the result.
  WantedParts parts() const { return names_.empty() ? WantedParts() : WantedParts({names_.begin(), names_.end()}); }
  // Returns whether a name may be a path.
  bool has_dots() const;
  const std::vector<std::string>& names() const { return names_; }  // none: all

  // Fails with kUnsupported if a selected name is not among those of the records, which include all paths if
  // has_dots(); the detail names the nearest ones.
  Result<void> check(const std::vector<std::string>& of_records) const;
  // Returns whether that is why an error occurred.
  static bool is_of_check(const Error& error) { return error.detail.starts_with(kNoColumn); }

 private:
  static constexpr std::string_view kNoColumn = "no column ";
  explicit ColumnSelection(std::vector<std::string> names) : names_(std::move(names)) {}

  std::vector<std::string> names_;
};

}  // namespace recordfs
