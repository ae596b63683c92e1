// Finds the columns of whole records, without a schema: a column for each name that a record has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/decoding/json_filter.h"

namespace recordfs {

// Passes on the scalars of records with their columns. A column's name is that of conditions: names joined by dots, and
// of a feature of an Example its own name. Columns of one name are those at one place, and otherwise reported. Memory
// is bounded: records that have more or longer names than the limits allow have values that are passed on to nothing.
// May throw std::bad_alloc. Not thread-safe.
class ColumnVisitor : public ValueVisitor {
 public:
  static constexpr std::size_t kMostColumns = 8192;
  static constexpr std::size_t kMostNames = 8u << 20;  // bytes of the names of columns and of what they are in

  // The names of the columns that occurred, by their numbers.
  const std::vector<std::string>& names() const { return names_; }
  // Returns whether values were left out, because there are too many columns.
  bool has_too_many() const { return has_too_many_; }
  // Returns where the values of a column are, as FoundField does; 0: at several places.
  std::uint64_t way(std::size_t column) const { return ways_[column]; }

  void begin_record(bool is_example) final { root_ = is_example ? 1 : 0; }
  void name(std::string_view name) final;
  void begin(bool is_list) final;
  void end() final;
  void take(const Scalar& value) final;

 protected:
  // Is called before a record.
  void restart();
  // Takes a scalar, or null for an empty list, and for a feature without values. `is_in_list`: the column has a list,
  // unless it is a feature, whose values are always in one.
  virtual void take_value(std::size_t column, bool is_in_list, const Scalar& value) = 0;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::size_t kMostNodes = 4 * kMostColumns;  // a feature has three

  // A place in records.
  struct Node {
    std::string path{};
    std::map<std::string, std::size_t, std::less<>> children{};
    std::size_t column = kNone;  // unknown before the first value
    bool is_in_example = false;
    bool is_feature = false;
    std::uint64_t way = 1;
  };
  // An open object or list.
  struct Level {
    std::size_t node = 0;
    bool is_list = false;
    bool is_in_list = false;  // the values in it are
    bool is_empty = true;
  };

  // Returns the node of the next value, kNone if there are too many.
  std::size_t next_node() const;
  std::size_t child_of(std::size_t node, std::string_view name);
  void pass_on(std::size_t number, bool is_in_list, const Scalar& value);
  // Finds the column of a node. Returns false if there are too many.
  bool find_column(Node& node);

  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> columns_;  // by name
  std::vector<std::uint64_t> ways_;                          // by column
  std::vector<Node> nodes_{Node{}, Node{.is_in_example = true}};
  std::size_t root_ = 0;  // the node of the record
  std::size_t name_bytes_ = 0;
  bool has_too_many_ = false;
  std::vector<Level> open_;
  std::size_t named_ = 0;  // the node of the last name
};

}  // namespace recordfs
