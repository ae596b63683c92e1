// Selects fields of a JSON value while it is written.
//
// A path is names of members joined by dots: "user.name". It goes through a list to each of its elements. A name may
// contain dots itself; a path that leads to values in two ways names several fields. In a tensorflow.Example or
// SequenceExample, a path is the name of a feature, "label", or the place of one, "features.feature.label".
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs {

// A field that a value has. Different ways lead through members with other names: "a.b" to the member a.b, or to b in
// a.
struct FoundField {
  std::size_t field = 0;
  std::uint64_t way = 1;
  bool is_in_example = false;

  bool operator==(const FoundField& other) const = default;
};

// Returns the way through a member with this name, after a way to the object that it is in, which is 1 for a record.
std::uint64_t way_after(std::uint64_t way, std::string_view name);

// Fields that are looked up in many values, and which of them were found. Thread-safe.
class FieldPaths {
 public:
  explicit FieldPaths(const std::vector<std::string>& paths);

  // The paths, as given.
  const std::vector<std::string>& fields() const { return fields_; }

  // Records that a value was searched, and the fields that it has.
  void note(const std::vector<FoundField>& found) const;

  // Says that a path is that of a field of the values' type, whether one has it or not.
  void declare(std::size_t field) const { found_[field].is_declared = true; }
  // Returns the paths that led nowhere in all values so far, and are no declared ones; none if there was no value.
  std::vector<std::string> absent() const;
  // Returns the paths that led to values in several ways.
  std::vector<std::string> several() const;

  // Returns whether names of fields are wanted, to suggest some for absent ones: true for a few values.
  bool wants_names() const;
  // Adds names of a value's fields.
  void note_names(std::set<std::string> names) const;
  // Returns the names that were added, sorted.
  std::set<std::string> names() const;

 private:
  friend class JsonFilter;
  static constexpr int kNamedValues = 4;

  // A path, to the field of that number.
  struct Path {
    std::string names;
    std::size_t field;
    std::uint64_t way;
  };
  struct Found {
    std::array<std::atomic<std::uint64_t>, 2> ways{};  // the first ones, without and with is_in_example; 0: none
    std::atomic<bool> has_several{false};
    std::atomic<bool> is_declared{false};
  };

  const std::vector<std::string> fields_;
  std::vector<Path> paths_;
  std::vector<Path> paths_in_examples_;
  std::unique_ptr<Found[]> found_;  // by field
  mutable std::atomic<bool> has_searched_{false};
  mutable std::atomic<int> named_values_{0};
  mutable std::mutex mutex_;  // guards names_
  mutable std::set<std::string> names_;
};

// The rests of paths at a place in a value: a range of JsonFilter's list.
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

// A value of an enum: its name, or the digits of a number without a name.
struct EnumValue {
  std::int32_t number = 0;
  std::string_view text{};
};

// A value that is neither an object nor a list. The empty alternative is null.
using Scalar =
    std::variant<std::monostate, bool, std::int64_t, std::uint64_t, float, double, std::string_view, Bytes, EnumValue>;

// Takes the scalars of fields, by the numbers of the fields. A field that is an object or a list has all scalars in it.
class ScalarSink {
 public:
  virtual ~ScalarSink() = default;
  // Texts and bytes are valid during the call.
  virtual void take(std::size_t field, const Scalar& value) = 0;
  // The same for a scalar in an object that is the field, or one of its elements.
  virtual void take_inside(std::size_t field, const Scalar& value) { take(field, value); }
  // Is called for each element of a field: the field itself unless it is null, or if it is a list, what is in it. An
  // object or a list in a list is one element, before the scalars in it; a scalar is one after it was taken. Each value
  // of a feature is one.
  virtual void note_element(std::size_t /*field*/) {}
  // Is called for each list that is the field, also for one without elements.
  virtual void note_list(std::size_t /*field*/) {}
  // Is called for each object that is the field, or one of its elements, also for a message. One without members is
  // the scalar `true`, too.
  virtual void note_object(std::size_t /*field*/) {}
};

// Takes a whole value, with its structure: objects with names before their members, lists, and scalars. A map is a list
// of objects with key and value. Texts and bytes are valid during the call.
class ValueVisitor {
 public:
  virtual ~ValueVisitor() = default;
  // Is called before a value.
  virtual void begin_record(bool /*is_example*/) {}
  virtual void name(std::string_view name) = 0;
  virtual void begin(bool is_list) = 0;
  virtual void end() = 0;
  virtual void take(const Scalar& value) = 0;
};

// Decides which parts of a value a JsonWriter writes: those to which a path leads. Not thread-safe.
class JsonFilter {
 public:
  enum class Form : std::uint8_t {
    kMember,   // the value is the member "decoded" of an open object, all other members of which are written
    kValues,   // of the selected parts, only the scalars are written, without quotes, escapes and commas
    kScalars,  // nothing is written; the scalars go to a sink, or the whole value to a visitor
  };
  enum class Verdict : std::uint8_t {
    kWrite,
    kSkip,
    kUndo,  // the writer returns to undone()
    kNull,  // null is written instead
  };
  enum class Shape : std::uint8_t {
    kObject,
    kList,
    kEntries,  // a map as an object, whose names are the keys
  };

  // `fields` must outlive the filter.
  JsonFilter(const FieldPaths& fields, Form form);
  // For kScalars. The arguments must outlive the filter.
  JsonFilter(const FieldPaths& fields, ScalarSink& sink);
  // For kScalars, of no fields.
  explicit JsonFilter(ValueVisitor& visitor);

  // Is called before a value. `is_example`: it is a tensorflow.Example or SequenceExample.
  void begin_record(bool is_example);

  // Each is called before the writer writes such a piece, whose begin is `before`.
  Verdict name(std::string_view name, const JsonMark& before);
  Verdict scalar(const JsonMark& before);
  Verdict begin(Shape shape, const JsonMark& before);
  Verdict end();

  // For kScalars, instead of scalar().
  void take(const Scalar& value);

  // Notes a number that was taken as the nearest double, because it is no integer of 64 bits and beyond the doubles.
  void note_beyond(std::string_view number) { beyond_ = number; }
  // Returns the last such number; empty if there is none.
  const std::string& beyond() const { return beyond_; }

  const JsonMark& undone() const { return before_; }
  bool takes_scalars() const { return form_ == Form::kScalars; }
  bool takes_all() const { return visitor_ != nullptr; }
  // Returns whether only the scalars of fields are wanted, for which an absent field may have a default, and a map is a
  // list of its entries too.
  bool wants_values() const { return form_ != Form::kMember; }
  // Returns whether the value that follows a name has no wanted part, so that it need not be written.
  bool skips_next() const {
    return form_ != Form::kMember && visitor_ == nullptr && whole_ == 0 && (skipped_ > 0 || next_.begin == next_.end);
  }
  bool writes_values() const { return form_ == Form::kValues; }
  void save(JsonMark& mark) const;
  void take_back(const JsonMark& mark);

  // Notes the fields that were found in the whole value.
  void finish() const { fields_.note(found_); }
  // For kValues, before the end of an object: if it is selected and without members, notes a value that begins there in
  // the writer's text, and returns true.
  bool note_presence(std::size_t text_size);
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
    std::uint64_t way;
    bool is_inside = false;  // an object that the path leads to
  };
  // An open object or list that paths lead into.
  struct Level {
    PathRests rests;
    JsonMark before;
    Shape shape;
    bool has_part;
    bool is_in_list = false;  // directly
    bool is_empty = false;    // an object without members so far, whose scalar that is

    bool is_list() const { return shape == Shape::kList; }
  };

  // Returns whether the next value is written whole. `before` is where it begins if it is in a list.
  bool is_selected(const JsonMark& before);
  // Notes the fields of next_ that end here, and returns whether any path goes on or ends here.
  bool leads_here();
  void note_found(const Rest& rest);
  // Adds what is left of a path after a member's name.
  void add_rest(const Rest& rest, std::string_view name);
  // Takes the value of an object without members.
  void take_presence(const PathRests& rests);
  // Notes an element of each field that ends at the next value, unless this is in a list that is an element itself.
  void note_elements();

  const FieldPaths& fields_;
  const Form form_;
  ScalarSink* const sink_;                 // null unless kScalars
  ValueVisitor* const visitor_ = nullptr;  // instead of `sink_`
  std::vector<Rest> rests_;
  std::vector<Level> open_;
  PathRests next_;         // of the next value
  std::size_t paths_ = 0;  // of the record, which begin the rests
  bool is_example_ = false;
  bool is_other_ = false;      // the next value is a member other than "decoded"
  JsonMark before_{};          // before the next value and its name
  bool is_empty_ = false;      // of kValues: an object was just begun
  std::uint32_t whole_ = 0;    // open objects and lists that are written whole
  std::uint32_t skipped_ = 0;  // open objects and lists that are not written
  std::vector<FoundField> found_;
  std::vector<std::size_t> values_;  // begins of values in the text
  std::string beyond_;
};

}  // namespace recordfs
