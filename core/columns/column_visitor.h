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

  // The place of a value in its column.
  struct Place {
    bool is_in_list = false;  // the column has a list, unless it is a feature, whose values are always in one
    bool is_element = false;  // of the list, or the value without one
    bool is_object = false;   // the value is `true`, for an object without members
  };

  // The names of the columns that occurred, by their numbers.
  const std::vector<std::string>& names() const { return names_; }
  // Returns whether the last record has a value that no name leads to, as it is none of an object or a list of objects.
  bool has_unnamed() const { return has_unnamed_; }
  // Returns whether values were left out, because there are too many columns.
  bool has_too_many() const { return has_too_many_; }
  // Returns where the values of a column are, as FoundField does; 0: at several places.
  std::uint64_t way(std::size_t column) const { return ways_[column]; }
  // Calls `take` with the name of each place that has objects with members, and the number of records in which it has
  // no other values, of those that count_objects() was called for.
  template <class Take>
  void each_object(const Take& take) const {
    for (const Node& node : nodes_) {
      if (node.objects > 0) take(node.path, node.objects);
    }
  }

  void begin_record(bool is_example) final { root_ = is_example ? 1 : 0; }
  void name(std::string_view name) final;
  void begin(bool is_list) final;
  void end() final;
  void take(const Scalar& value) final;

 protected:
  // Is called before a record, and again before it is visited once more.
  void restart(bool is_new = true);
  // Is called after a record was visited, if it counts.
  void count_objects();
  // Takes a scalar, or null for an empty list, for a feature without values, and after a list that is an element.
  virtual void take_value(std::size_t column, const Place& place, const Scalar& value) = 0;

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
    std::uint64_t objects = 0;      // records with an object there, and no other value
    std::uint64_t last_object = 0;  // the last record with one
    std::uint64_t last_value = 0;   // the last record with another value
  };
  // An open object or list.
  struct Level {
    std::size_t node = 0;
    bool is_list = false;
    bool is_in_list = false;  // the values in it are
    bool is_inner = false;    // a list directly in a list
    bool is_empty = true;
  };

  static std::string name_of(const Node& node);
  // Returns the node of the next value, kNone if there are too many.
  std::size_t next_node() const;
  std::size_t child_of(std::size_t node, std::string_view name);
  // Returns whether the next value is an element: it is in no list that is one.
  bool is_element() const { return open_.empty() || !open_.back().is_inner; }
  void pass_on(std::size_t number, Place place, const Scalar& value);
  // Finds the column of a node. Returns false if there are too many.
  bool find_column(Node& node);

  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> columns_;  // by name
  std::vector<std::uint64_t> ways_;                          // by column
  std::vector<Node> nodes_{Node{}, Node{.is_in_example = true}};
  std::size_t root_ = 0;  // the node of the record
  std::size_t name_bytes_ = 0;
  bool has_too_many_ = false;
  bool has_unnamed_ = false;
  std::vector<Level> open_;
  std::size_t named_ = 0;  // the node of the last name
  std::uint64_t record_ = 0;
  std::vector<std::size_t> with_objects_;  // the nodes that have an object in this record
};

}  // namespace recordfs
