// Columns of tensorflow.Examples: their features, as the first records have them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/columns/column_builder.h"
#include "core/columns/column_selection.h"
#include "core/decoding/message_schema.h"
#include "core/formats/tensorflow_example.h"

namespace recordfs {

// A feature is a list if one of the records that define the columns has several values of it, or an empty list, and a
// feature without a type has nulls. First add() these records, then finish(), then append() each record. Not
// thread-safe, but for constant functions.
class FeatureColumns {
 public:
  struct Options {
    ColumnSelection selection{};
    Limits limits{};
    bool lists = false;       // each feature is a list
    bool allows_nul = false;  // in names, which tables cannot have
  };

  // Fails with kUnsupported if two selected names lead to the same feature.
  static Result<FeatureColumns> of(Options options);

  // Adds the features of a record that is an Example. Fails with kLimit if there are too many, and with kUnsupported if
  // one cannot have such a name.
  Result<void> add(Bytes record);
  // Returns whether a record had a feature.
  bool has_types() const { return !names_.empty(); }
  // Returns the columns, in the order of the features' names. Fails with kUnsupported if there are none, and as
  // ColumnSelection::check().
  Result<std::vector<MessageField>> finish();

  // Appends a record to the builder of a message with the fields that finish() returned. An absent feature is null.
  // Fails if the record is no Example, or has other features, types or lists; the builder must then be truncated.
  // Throws std::bad_alloc.
  Result<void> append(ColumnBuilder& builder, Bytes record) const;

  // Returns whether a feature is a list, also true for one that no record had.
  bool is_list(std::string_view feature) const;
  // Returns the name of the column that a feature is in, as the selection has it; nullopt if it is not selected.
  std::optional<std::string_view> column_of(std::string_view feature) const;
  // Returns the error of a record with several values of a feature that is no list.
  static Error several_values(std::string_view feature);

 private:
  struct Feature {
    std::size_t column = 0;
    tensorflow::FeatureKind kind{};
    bool is_list = false;
    bool has_values = false;  // in the records that were added
  };

  explicit FeatureColumns(Options options) : options_(std::move(options)) {}
  Result<void> select();
  // Removes the features that no selected name leads to.
  Result<void> resolve();

  Options options_;
  std::set<std::string, std::less<>> names_;                  // of features, also of those that are not selected
  std::map<std::string, Feature, std::less<>> features_;      // that are selected
  std::map<std::string, std::string, std::less<>> selected_;  // the names that are given, by feature
};

}  // namespace recordfs
