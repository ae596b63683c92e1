// Conditions on the fields of a record: label in (3, 5) and len(image/encoded) > 1e5 and not split ~ '^val'
//
//   condition   terms that `and`, `or`, `not` and parentheses join; `not` binds strongest, then `and`
//   term        FIELD = VALUE, and with ==, !=, <>, <, <=, >, >=; FIELD in (VALUE, ...), FIELD not in (VALUE, ...)
//               FIELD ~ 'PATTERN', FIELD !~ 'PATTERN'; FIELD is null, FIELD is not null
//               len(FIELD) and count(FIELD), compared with numbers in the same ways
//   FIELD       a path as of FieldPaths, bare or in quotes: `a b` or "a b". A bare path begins with a letter, also one
//               beyond ASCII, or one of _ / : $ @ #, and continues with these, digits, dots and dashes. Words of this
//               language need quotes.
//   VALUE       a number, true, false, or a text in quotes: 'cat' or "cat"
//
// The left side of an operator is a field, and its right side is a value. In quotes, the same quote is doubled, and all
// other characters are themselves. Words of the language may have capitals.
//
// A term is true if any value of its field makes it true. A field has several values if it is a list, or if it is an
// object, all scalars in which are its values. Nulls are no values. An object or a message without members has the
// value true. A field without a value that is no object either is null, and all other terms on it are false, except for
// count(). There are only true and false: `not` makes true what is false.
//
// - Numbers are compared without rounding. Integers of JSON that have more than 64 bits are the nearest double. A float
//   also equals the decimal number with its shortest digits, which JSON shows: 0.1. NaN differs from all numbers.
// - Texts and bytes are compared byte by byte. Patterns are those of RecordMatcher, which match anywhere in the text.
// - Values of different types differ, and are not ordered. A value of an enum is compared with a number by its number,
//   and with a text by its name. `not in (VALUE)` is the same as !=.
// - count() is the number of elements of a list, also of objects, lists or nulls; of another field, 1, or 0 if it is
//   null or missing.
//   len() is the number of bytes of a text or of bytes; of a field with other values, and of an empty list, it is
//   count().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/decoding/exact_number.h"
#include "core/decoding/json_filter.h"
#include "core/search/record_matcher.h"

namespace recordfs {

// A value in a condition.
using ConditionValue = std::variant<bool, ExactNumber, std::string>;

// Hashes texts of any type, for lookups without a copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// A comparison.
struct ConditionTerm {
  enum class Subject : std::uint8_t { kValue, kLength, kCount };
  enum class Operator : std::uint8_t {
    kEqual,
    kUnequal,
    kLess,
    kAtMost,
    kMore,
    kAtLeast,
    kIn,
    kMatches,
    kDiffers,
    kNull
  };

  std::size_t field = 0;  // an index of Condition::names()
  Subject subject = Subject::kValue;
  Operator comparison = Operator::kEqual;
  ConditionValue value{};  // of the comparisons up to kAtLeast
  // Of kIn, the values by type, and whether the term is true for other values. The numbers are sorted.
  bool is_negated = false;
  std::vector<ExactNumber> numbers{};
  std::unordered_set<std::string, TextHash, std::equal_to<>> texts{};
  std::vector<bool> words{};
  std::shared_ptr<const RecordMatcher> matcher{};  // of kMatches, and of kDiffers, which is true if it does not match
  std::string source{};                            // as it was written
};

// A term, or a combination of earlier nodes.
struct ConditionNode {
  enum class Kind : std::uint8_t { kTerm, kNot, kAnd, kOr };

  Kind kind = Kind::kTerm;
  std::size_t first = 0;  // a node, or of kTerm the index of a term
  std::size_t second = 0;
};

// The parts of a condition.
struct ConditionParts {
  std::vector<std::string> names{};
  std::vector<ConditionTerm> terms{};
  std::vector<ConditionNode> nodes{};  // the last one is the whole
};

// Immutable and thread-safe.
class Condition {
 public:
  static constexpr std::size_t kMostText = 64u << 10;  // bytes
  static constexpr std::size_t kMostPatterns = 64;
  static constexpr std::size_t kDeepest = 100;  // nested parentheses and `not`

  // Parses a condition. Fails with kUnsupported; the detail is a message of three lines, of which the second shows the
  // text, and the third points at the place.
  static Result<std::shared_ptr<const Condition>> parse(std::string_view text);

  // REQUIRES: the parts are those of a condition.
  explicit Condition(ConditionParts parts) : parts_(std::move(parts)) {}

  // The fields that are compared, each once.
  const std::vector<std::string>& names() const { return parts_.names; }
  const std::vector<ConditionTerm>& terms() const { return parts_.terms; }
  // A truth value; kUnknown if the value of a field is.
  enum class Truth : std::uint8_t { kFalse, kUnknown, kTrue };
  // Returns the value of the whole, given those of the terms: kUnknown if it depends on unknown ones.
  Truth combine(const std::vector<Truth>& terms) const;

 private:
  const ConditionParts parts_;
};

// Evaluates a condition for one record, while the values of its fields are passed to it, in memory that depends on the
// condition alone. Not thread-safe.
class ConditionEvaluation final : public ScalarSink {
 public:
  // `condition` must outlive it.
  explicit ConditionEvaluation(const Condition& condition);

  // `field`: an index of Condition::names().
  void take(std::size_t field, const Scalar& value) override { take(field, value, true); }
  void take_inside(std::size_t field, const Scalar& value) override { take(field, value, false); }
  void note_element(std::size_t field) override;
  void note_list(std::size_t field) override;
  void note_object(std::size_t field) override;
  // Returns whether the condition is true for the values so far.
  bool finish() { return finish(SIZE_MAX) == Condition::Truth::kTrue; }
  // The same if a field has one value, which is unknown. SIZE_MAX: none has.
  Condition::Truth finish(std::size_t unknown_field);

  // The types that a term has been compared with.
  struct Seen {
    bool comparable = false;  // a value of a type that the term can be true for
    bool other = false;       // a value of another type
  };
  const std::vector<Seen>& seen() const { return seen_; }

 private:
  struct Values {
    std::uint64_t count = 0;  // of values and objects
    std::uint64_t elements = 0;
    bool has_text = false;  // as an element, not inside one
    bool has_list = false;
  };

  // `has_length`: whether len() is about the value.
  void take(std::size_t field, const Scalar& value, bool has_length);

  const Condition& condition_;
  std::vector<bool> is_true_;   // by term
  std::vector<Seen> seen_;      // by term
  std::vector<Values> values_;  // by field
};

}  // namespace recordfs
