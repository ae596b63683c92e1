// Selects fields of a JSON value while it is written.
//
// A path is names of members joined by dots: "user.name". It goes through a list to each of its elements. A name may
// contain dots itself. A feature of a tensorflow.Example or SequenceExample also has its own name as a path: "label" is
// "features.feature.label".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

// Fields that are looked up in many values, and which of them were found. Thread-safe.
class FieldPaths {
 public:
  explicit FieldPaths(const std::vector<std::string>& paths);

  // Records that a value was searched, and the numbers of the fields that it has.
  void note(const std::vector<std::size_t>& found) const;

  // Returns the paths that led nowhere in all values so far; none if there was no value.
  std::vector<std::string> absent() const;

 private:
  friend class JsonFilter;

  // A path, to the field of that number.
  struct Path {
    std::string names;
    std::size_t field;
  };

  const std::vector<std::string> fields_;  // as given
  std::vector<Path> paths_;
  std::unique_ptr<std::atomic<bool>[]> found_;  // by field
  mutable std::atomic<bool> has_searched_{false};
};

// What is left of paths at a place in a value: a range of JsonFilter's list.
struct PathRests {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A position in the output of a JsonWriter that it can return to.
struct JsonMark {
  std::size_t size = 0;
  std::uint32_t depth = 0;
  std::uint32_t nesting = 0;
  bool is_first = true;
  bool is_after_name = false;
  bool is_full = false;

  // The state of its filter.
  bool has_part = false;
  PathRests next{};
  std::size_t open = 0;
  std::uint32_t whole = 0;
  std::uint32_t skipped = 0;
  std::size_t found = 0;
  std::size_t values = 0;
};

// Decides which parts of a value a JsonWriter writes: those to which a path leads. Not thread-safe.
class JsonFilter {
 public:
  enum class Form : std::uint8_t {
    kMember,  // the value is the member "decoded" of an open object, all other members of which are written
    kValues,  // of the selected parts, only the scalars are written, without quotes, escapes and commas
  };
  enum class Verdict : std::uint8_t {
    kWrite,
    kSkip,
    kUndo,  // the writer returns to undone()
    kNull,  // null is written instead
  };

  // `fields` must outlive the filter.
  JsonFilter(const FieldPaths& fields, Form form);

  // Each is called before the writer writes such a piece, whose begin is `before`.
  Verdict name(std::string_view name, const JsonMark& before);
  Verdict scalar(const JsonMark& before);
  Verdict begin(bool is_list, const JsonMark& before);
  Verdict end();

  const JsonMark& undone() const { return before_; }
  bool writes_values() const { return form_ == Form::kValues; }
  void save(JsonMark& mark) const;
  void take_back(const JsonMark& mark);

  // Notes the fields that were found in the whole value.
  void finish() const { fields_.note(found_); }
  // Calls `take` with each value of kValues in the writer's text.
  template <class Take>
  void each_value(std::string_view text, const Take& take) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::size_t end = i + 1 < values_.size() ? values_[i + 1] : text.size();
      take(text.substr(values_[i], end - values_[i]));
    }
  }

 private:
  struct Rest {
    std::string_view path;
    std::size_t field;
  };
  // An open object or list that paths lead into.
  struct Level {
    PathRests rests;
    JsonMark before;
    bool is_list;
    bool has_part;
  };

  // Returns whether the next value is written whole. `before` is where it begins if it is in a list.
  bool is_selected(const JsonMark& before);

  const FieldPaths& fields_;
  const Form form_;
  std::vector<Rest> rests_;
  std::vector<Level> open_;
  PathRests next_;                   // of the next value
  bool is_other_ = false;            // the next value is a member other than "decoded"
  JsonMark before_{};                // before the next value and its name
  std::uint32_t whole_ = 0;          // open objects and lists that are written whole
  std::uint32_t skipped_ = 0;        // open objects and lists that are not written
  std::vector<std::size_t> found_;   // fields
  std::vector<std::size_t> values_;  // begins of values in the text
};

}  // namespace recordfs
