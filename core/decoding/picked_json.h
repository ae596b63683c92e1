// Picks values out of JSON text that recordfs wrote: valid, and without white space.
//
// A path is names of members joined by dots: "user.name". It goes through a list to each of its elements. A name may
// contain dots itself. A feature of a tensorflow.Example or SequenceExample also has its own name as a path: "label" is
// "features.feature.label".
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

// Calls `take` with the name, as it is written, without quotes, and the value of each member of an object. Stops at
// text that is not JSON. Thread-safe.
void each_json_member(std::string_view object,
                      const std::function<void(std::string_view name, std::string_view value)>& take);

// Fields that are looked up in many texts, and which of them were found. Thread-safe.
class FieldPaths {
 public:
  explicit FieldPaths(const std::vector<std::string>& paths);

  // Calls `take` with each value to which a path leads, one by one: of a list each element, of an object the values of
  // its members. Strings come without quotes and escapes, bytes as they are, anything else as JSON.
  void each_value(std::string_view json, const std::function<void(std::string_view value)>& take) const;

  // Returns the same JSON without members to which, and into which, no path leads.
  std::string pick(std::string_view json) const;

  // Records that a text has no JSON, so that no path leads anywhere in it.
  void look_at_nothing() const { has_looked_ = true; }

  // Returns the paths that led nowhere in all texts so far; none if there was no text.
  std::vector<std::string> absent() const;

 private:
  friend class FieldSearch;

  // A path as its names are written in JSON, to the field of that number.
  struct Written {
    std::string path;
    std::size_t field;
  };

  const std::vector<std::string> fields_;  // as given
  std::vector<Written> paths_;
  std::unique_ptr<std::atomic<bool>[]> found_;  // by field
  mutable std::atomic<bool> has_looked_{false};
};

}  // namespace recordfs
