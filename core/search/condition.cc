#include "core/search/condition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/formats/shortest_digits.h"

namespace recordfs {
namespace {

using Operator = ConditionTerm::Operator;
using Subject = ConditionTerm::Subject;

bool is_true(Operator comparison, std::partial_ordering order) {
  switch (comparison) {
    case Operator::kEqual: return order == std::partial_ordering::equivalent;
    case Operator::kUnequal: return order != std::partial_ordering::equivalent;
    case Operator::kLess: return order == std::partial_ordering::less;
    case Operator::kAtMost: return order == std::partial_ordering::less || order == std::partial_ordering::equivalent;
    case Operator::kMore: return order == std::partial_ordering::greater;
    case Operator::kAtLeast:
      return order == std::partial_ordering::greater || order == std::partial_ordering::equivalent;
    default: return false;
  }
}

// Whether a value makes a term true; nullopt if it is of another type than the term's values.
using Outcome = std::optional<bool>;

Outcome compare(const ConditionTerm& term, const ExactNumber& number) {
  if (term.comparison == Operator::kIn) {
    if (term.numbers.empty()) return std::nullopt;
    const auto is_less = [](const ExactNumber& one, const ExactNumber& other) {
      return compare_exactly(one, other) == std::partial_ordering::less;
    };
    const auto found = std::ranges::lower_bound(term.numbers, number, is_less);
    return found != term.numbers.end() && compare_exactly(*found, number) == std::partial_ordering::equivalent;
  }
  const auto* const other = std::get_if<ExactNumber>(&term.value);
  if (other == nullptr || term.matcher) return std::nullopt;
  return is_true(term.comparison, compare_exactly(number, *other));
}

// A float equals its value, and the decimal number that is shown of it: 0.1 is 0.100000001490116119384765625.
Outcome compare(const ConditionTerm& term, float number) {
  const ExactNumber exact = static_cast<double>(number);
  const ExactNumber shown = with_its_digits(number);
  if (term.comparison == Operator::kIn) {
    const Outcome is_in = compare(term, exact);
    return is_in && !*is_in ? compare(term, shown) : is_in;
  }
  const auto* const other = std::get_if<ExactNumber>(&term.value);
  const bool is_shown = other != nullptr && compare_exactly(shown, *other) == std::partial_ordering::equivalent;
  return compare(term, is_shown ? shown : exact);
}

Outcome compare(const ConditionTerm& term, std::string_view text) {
  if (term.matcher) return term.matcher->matches(text) == (term.comparison == Operator::kMatches);
  if (term.comparison == Operator::kIn) {
    if (term.texts.empty()) return std::nullopt;
    return term.texts.contains(text);
  }
  const auto* const other = std::get_if<std::string>(&term.value);
  if (other == nullptr) return std::nullopt;
  const int order = text.compare(*other);
  return is_true(term.comparison, order <=> 0);
}

Outcome compare(const ConditionTerm& term, bool word) {
  if (term.comparison == Operator::kIn) {
    if (term.words.empty()) return std::nullopt;
    return std::ranges::find(term.words, word) != term.words.end();
  }
  const auto* const other = std::get_if<bool>(&term.value);
  if (other == nullptr || term.matcher) return std::nullopt;
  return (word == *other) == (term.comparison == Operator::kEqual);
}

struct CompareScalar {
  Outcome operator()(std::monostate) const { return std::nullopt; }
  Outcome operator()(bool value) const { return compare(term, value); }
  Outcome operator()(std::int64_t value) const { return compare(term, ExactNumber(value)); }
  Outcome operator()(std::uint64_t value) const { return compare(term, ExactNumber(value)); }
  Outcome operator()(float value) const { return compare(term, value); }
  Outcome operator()(double value) const { return compare(term, ExactNumber(value)); }
  Outcome operator()(std::string_view value) const { return compare(term, value); }
  Outcome operator()(Bytes value) const { return compare(term, as_text(value)); }
  // An enum equals its number and its name.
  Outcome operator()(const EnumValue& value) const {
    const Outcome of_number = compare(term, ExactNumber(std::int64_t{value.number}));
    const Outcome of_text = compare(term, value.text);
    return of_number && of_text ? Outcome(*of_number || *of_text) : of_number ? of_number : of_text;
  }

  const ConditionTerm& term;
};

// Returns the size of a text or of bytes; nullopt for other values.
std::optional<std::uint64_t> size_of(const Scalar& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return text->size();
  if (const auto* bytes = std::get_if<Bytes>(&value)) return bytes->size();
  if (const auto* of_enum = std::get_if<EnumValue>(&value)) return of_enum->text.size();
  return std::nullopt;
}

// Returns whether a value makes a term true; nullopt if it is of another type.
Outcome outcome_of(const ConditionTerm& term, const Scalar& value) {
  const Outcome outcome = std::visit(CompareScalar{term}, value);
  return outcome ? Outcome(*outcome != term.is_negated) : outcome;
}

// Returns whether values of another type make the term true.
bool is_true_for_others(const ConditionTerm& term) {
  return term.comparison == Operator::kUnequal || term.comparison == Operator::kDiffers || term.is_negated;
}

}  // namespace

Condition::Truth Condition::combine(const std::vector<Truth>& terms) const {
  const auto opposite = [](Truth of) {
    return of == Truth::kUnknown ? of : of == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
  };
  std::vector<Truth> nodes;
  nodes.reserve(parts_.nodes.size());
  for (const ConditionNode& node : parts_.nodes) {
    switch (node.kind) {
      case ConditionNode::Kind::kTerm: nodes.push_back(terms[node.first]); break;
      case ConditionNode::Kind::kNot: nodes.push_back(opposite(nodes[node.first])); break;
      case ConditionNode::Kind::kAnd: nodes.push_back(std::min(nodes[node.first], nodes[node.second])); break;
      case ConditionNode::Kind::kOr: nodes.push_back(std::max(nodes[node.first], nodes[node.second])); break;
    }
  }
  return nodes.back();
}

ConditionEvaluation::ConditionEvaluation(const Condition& condition)
    : condition_(condition),
      is_true_(condition.terms().size()),
      seen_(condition.terms().size()),
      values_(condition.names().size()) {}

void ConditionEvaluation::note_element(std::size_t field) { ++values_[field].elements; }

void ConditionEvaluation::note_list(std::size_t field) { values_[field].has_list = true; }

void ConditionEvaluation::note_object(std::size_t field) { ++values_[field].count; }

void ConditionEvaluation::take(std::size_t field, const Scalar& value, bool has_length) {
  if (std::holds_alternative<std::monostate>(value)) return;
  Values& values = values_[field];
  ++values.count;
  const auto size = has_length ? size_of(value) : std::nullopt;
  values.has_text = values.has_text || size;
  for (std::size_t i = 0; i < is_true_.size(); ++i) {
    const ConditionTerm& term = condition_.terms()[i];
    if (term.field != field || is_true_[i] || term.comparison == Operator::kNull || term.subject == Subject::kCount) {
      continue;
    }
    const bool is_length = term.subject == Subject::kLength;
    if (is_length && !size) continue;
    const Outcome outcome = outcome_of(term, is_length ? Scalar(*size) : value);
    (outcome ? seen_[i].comparable : seen_[i].other) = true;
    is_true_[i] = outcome.value_or(is_true_for_others(term));
  }
}

Condition::Truth ConditionEvaluation::finish(std::size_t unknown_field) {
  using Truth = Condition::Truth;
  std::vector<Truth> terms(is_true_.size());
  for (std::size_t i = 0; i < is_true_.size(); ++i) {
    const ConditionTerm& term = condition_.terms()[i];
    const Values& values = values_[term.field];
    const bool is_unknown = term.field == unknown_field;
    if (term.comparison == Operator::kNull) is_true_[i] = values.count == 0 && !is_unknown;
    const bool is_count =
        term.subject == Subject::kCount ||
        (term.subject == Subject::kLength && (values.elements > 0 || values.has_list) && !values.has_text);
    if (is_count) is_true_[i] = outcome_of(term, Scalar(values.elements)).value_or(false);
    const bool is_decided = !is_unknown || is_count || term.comparison == Operator::kNull;
    terms[i] = is_decided ? (is_true_[i] ? Truth::kTrue : Truth::kFalse) : Truth::kUnknown;
  }
  return condition_.combine(terms);
}

}  // namespace recordfs
