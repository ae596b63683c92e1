// The parser of conditions.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "core/search/condition.h"

namespace recordfs {
namespace {

using Operator = ConditionTerm::Operator;
using Subject = ConditionTerm::Subject;

struct Token {
  enum class Kind : std::uint8_t { kEnd, kWord, kQuotedName, kDoubleQuoted, kSingleQuoted, kNumber, kSymbol };

  Kind kind = Kind::kEnd;
  std::size_t at = 0;
  std::string text{};  // without quotes

  bool is_symbol(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool is_word(std::string_view word) const {
    const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
    return kind == Kind::kWord && std::ranges::equal(text, word, is_same);
  }
  bool is_text() const { return kind == Kind::kDoubleQuoted || kind == Kind::kSingleQuoted; }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_of_name(char c) {
  constexpr std::string_view kOthers = "_./:$@#-";
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || is_digit(c) || kOthers.find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80;
}

// Returns the message, the part of the text around a place, and a caret below it.
Error error_at(std::string_view text, std::size_t at, const std::string& message) {
  constexpr std::size_t kAround = 60;  // bytes
  const auto is_inside = [&](std::size_t i) {
    return i > 0 && i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  std::size_t begin = at - std::min(at, kAround);
  std::size_t end = std::min(text.size(), at + kAround);
  while (is_inside(begin)) ++begin;
  while (is_inside(end)) --end;
  const std::string before = printable(text.substr(begin, at - begin));
  const auto width =
      std::ranges::count_if(before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return {.code = Code::kUnsupported,
          .detail = fmt::format("{}\n  {}{}\n  {:>{}}", message, before, printable(text.substr(at, end - at)), '^',
                                width + 1)};
}

class TokenReader {
 public:
  explicit TokenReader(std::string_view text) : text_(text) {}

  // Fails as Condition::parse().
  Result<Token> next() {
    constexpr std::string_view kSpace = " \t\r\n";
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
    if (at_ == text_.size()) return Token{.at = at_};
    const char c = text_[at_];
    if (c == '\'' || c == '"' || c == '`') return quoted(c);
    if (begins_number()) return number();
    if (is_of_name(c) && c != '-') return word();
    return symbol();
  }

  // Returns the end of the last token.
  std::size_t position() const { return at_; }

 private:
  bool begins_number() const {
    const std::size_t digit = text_.find_first_not_of("+-.", at_);
    return digit != std::string_view::npos && digit - at_ <= 2 && is_digit(text_[digit]);
  }

  Result<Token> quoted(char quote) {
    Token token{.kind = quote == '`' ? Token::Kind::kQuotedName
                                     : (quote == '"' ? Token::Kind::kDoubleQuoted : Token::Kind::kSingleQuoted),
                .at = at_};
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      const bool is_doubled = text_[i] == quote && i + 1 < text_.size() && text_[i + 1] == quote;
      if (text_[i] == quote && !is_doubled) {
        at_ = i + 1;
        return token;
      }
      token.text += text_[i];
      if (is_doubled) ++i;
    }
    return error_at(text_, at_, "a quote without its end (a quote inside is doubled)");
  }

  Result<Token> number() {
    Token token{.kind = Token::Kind::kNumber, .at = at_};
    for (std::size_t i = at_; i < text_.size(); ++i) {
      const char before = i > at_ ? text_[i - 1] : 'e';
      const bool is_sign = (text_[i] == '+' || text_[i] == '-') && (before == 'e' || before == 'E');
      if (!is_sign && !is_of_name(text_[i])) break;
      token.text += text_[i];
    }
    at_ += token.text.size();
    return token;
  }

  Result<Token> word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    return Token{.kind = Token::Kind::kWord, .at = begin, .text = std::string(text_.substr(begin, at_ - begin))};
  }

  Result<Token> symbol() {
    constexpr std::array<std::string_view, 13> kSymbols = {"==", "!=", "<>", "<=", ">=", "!~", "=",
                                                           "<",  ">",  "~",  "(",  ")",  ","};
    for (const std::string_view symbol : kSymbols) {
      if (!text_.substr(at_).starts_with(symbol)) continue;
      const std::size_t begin = std::exchange(at_, at_ + symbol.size());
      return Token{.kind = Token::Kind::kSymbol, .at = begin, .text = std::string(symbol)};
    }
    return error_at(text_, at_, "unexpected character");
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<Operator> operator_of(const Token& token) {
  constexpr std::array<std::pair<std::string_view, Operator>, 10> kOperators = {{{"=", Operator::kEqual},
                                                                                 {"==", Operator::kEqual},
                                                                                 {"!=", Operator::kUnequal},
                                                                                 {"<>", Operator::kUnequal},
                                                                                 {"<", Operator::kLess},
                                                                                 {"<=", Operator::kAtMost},
                                                                                 {">", Operator::kMore},
                                                                                 {">=", Operator::kAtLeast},
                                                                                 {"~", Operator::kMatches},
                                                                                 {"!~", Operator::kDiffers}}};
  if (token.kind != Token::Kind::kSymbol) return std::nullopt;
  const auto known = std::ranges::find(kOperators, token.text, [](const auto& one) { return one.first; });
  return known == kOperators.end() ? std::nullopt : std::optional(known->second);
}

bool is_reserved(const Token& token) {
  constexpr std::array<std::string_view, 8> kWords = {"and", "or", "not", "in", "is", "null", "true", "false"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return token.is_word(word); });
}

// Each function appends a node, and returns its index. Fails as Condition::parse().
class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text), reader_(text) {}

  Result<std::shared_ptr<const Condition>> run() {
    TRY(advance());
    if (token_.kind == Token::Kind::kEnd) return fail("a condition is expected, such as label = 3");
    ASSIGN_OR_RETURN([[maybe_unused]] const auto whole, any_of(0));
    if (token_.kind != Token::Kind::kEnd) return fail("`and`, `or` or the end is expected");
    return std::make_shared<const Condition>(std::move(parts_));
  }

 private:
  using Kind = ConditionNode::Kind;

  Error fail(const std::string& message) const { return error_at(text_, token_.at, message); }

  Result<void> advance() {
    end_ = reader_.position();
    ASSIGN_OR_RETURN(token_, reader_.next());
    return {};
  }

  Result<bool> take_word(std::string_view word) {
    if (!token_.is_word(word)) return false;
    TRY(advance());
    return true;
  }

  Result<void> expect(std::string_view symbol) {
    if (!token_.is_symbol(symbol)) return fail(fmt::format("{} is expected", symbol));
    return advance();
  }

  std::size_t add(ConditionNode node) {
    parts_.nodes.push_back(node);
    return parts_.nodes.size() - 1;
  }

  Result<std::size_t> any_of(std::size_t depth) {
    ASSIGN_OR_RETURN(auto node, all_of(depth));
    while (token_.is_word("or")) {
      TRY(advance());
      ASSIGN_OR_RETURN(const auto other, all_of(depth));
      node = add({Kind::kOr, node, other});
    }
    return node;
  }

  Result<std::size_t> all_of(std::size_t depth) {
    ASSIGN_OR_RETURN(auto node, one(depth));
    while (token_.is_word("and")) {
      TRY(advance());
      ASSIGN_OR_RETURN(const auto other, one(depth));
      node = add({Kind::kAnd, node, other});
    }
    return node;
  }

  Result<std::size_t> one(std::size_t depth) {
    if (depth == Condition::kDeepest) return fail("the condition nests too deeply");
    if (token_.is_word("not")) {
      TRY(advance());
      ASSIGN_OR_RETURN(const auto inner, one(depth + 1));
      return add({Kind::kNot, inner});
    }
    if (!token_.is_symbol("(")) return term();
    TRY(advance());
    ASSIGN_OR_RETURN(const auto inner, any_of(depth + 1));
    TRY(expect(")"));
    return inner;
  }

  Result<std::size_t> term() {
    const std::size_t begin = token_.at;
    ConditionTerm made;
    TRY(subject(made));
    bool is_negated = false;
    if (made.subject == Subject::kValue && token_.is_word("is")) {
      TRY(advance());
      ASSIGN_OR_RETURN(is_negated, take_word("not"));
      if (!token_.is_word("null")) return fail("`null` is expected");
      TRY(advance());
      made.comparison = Operator::kNull;
    } else if (token_.is_word("in") || token_.is_word("not")) {
      ASSIGN_OR_RETURN(is_negated, take_word("not"));
      if (!token_.is_word("in")) return fail("`in` is expected");
      TRY(advance());
      made.is_negated = std::exchange(is_negated, false);
      TRY(list(made));
    } else {
      TRY(comparison(made));
    }
    made.source = text_.substr(begin, end_ - begin);
    parts_.terms.push_back(std::move(made));
    const std::size_t node = add({Kind::kTerm, parts_.terms.size() - 1});
    return is_negated ? add({Kind::kNot, node}) : node;
  }

  // Reads a field, or len() or count() of one.
  Result<void> subject(ConditionTerm& made) {
    const Token name = token_;
    if (name.kind == Token::Kind::kSingleQuoted) {
      return fail("a field is expected here (a name that needs quotes has ` or \")");
    }
    const bool is_name = name.kind == Token::Kind::kQuotedName || name.kind == Token::Kind::kDoubleQuoted ||
                         (name.kind == Token::Kind::kWord && !is_reserved(name));
    if (!is_name) return fail("a field is expected here, left of an operator");
    TRY(advance());
    if ((name.is_word("len") || name.is_word("count")) && token_.is_symbol("(")) {
      TRY(advance());
      if (made.subject != Subject::kValue) return fail("only a field has len() and count()");
      made.subject = name.is_word("len") ? Subject::kLength : Subject::kCount;
      TRY(subject(made));
      return expect(")");
    }
    auto& names = parts_.names;
    const auto known = std::ranges::find(names, name.text);
    made.field = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back(name.text);
    return {};
  }

  Result<void> comparison(ConditionTerm& made) {
    const auto known = operator_of(token_);
    if (!known) return fail("an operator is expected: = != < <= > >= ~ !~ in is");
    const Token sign = token_;
    made.comparison = *known;
    TRY(advance());
    const Token given = token_;
    ASSIGN_OR_RETURN(made.value, value(made));
    const auto refuse = [&](const Token& token, const char* why) { return error_at(text_, token.at, why); };
    if (made.comparison == Operator::kMatches || made.comparison == Operator::kDiffers) {
      if (made.subject != Subject::kValue) return refuse(sign, "len() and count() are numbers, which ~ does not match");
      if (!given.is_text()) return refuse(given, "a pattern in quotes is expected");
      return compile(made, given);
    }
    const bool is_ordered = made.comparison != Operator::kEqual && made.comparison != Operator::kUnequal;
    const bool is_word = std::holds_alternative<bool>(made.value);
    return is_word && is_ordered ? refuse(sign, "true and false have no order (try: = or !=)") : Result<void>();
  }

  Result<void> compile(ConditionTerm& made, const Token& pattern) {
    if (++patterns_ > Condition::kMostPatterns) {
      return error_at(text_, pattern.at, fmt::format("more than {} patterns", Condition::kMostPatterns));
    }
    auto matcher = RecordMatcher::make({pattern.text}, {});
    if (!matcher) return error_at(text_, pattern.at, "bad pattern: " + printable(matcher.error().detail));
    made.matcher = std::move(*matcher);
    return {};
  }

  Result<void> list(ConditionTerm& made) {
    made.comparison = Operator::kIn;
    if (!token_.is_symbol("(")) return fail("values in parentheses are expected: in (1, 2)");
    do {
      TRY(advance());
      ASSIGN_OR_RETURN(auto next, value(made));
      if (const auto* number = std::get_if<ExactNumber>(&next)) {
        made.numbers.push_back(*number);
      } else if (auto* text = std::get_if<std::string>(&next)) {
        made.texts.insert(std::move(*text));
      } else {
        made.words.push_back(std::get<bool>(next));
      }
    } while (token_.is_symbol(","));
    std::ranges::sort(made.numbers, [](const ExactNumber& one, const ExactNumber& other) {
      return compare_exactly(one, other) == std::partial_ordering::less;
    });
    return expect(")");
  }

  // Reads what a term's subject is compared with.
  Result<ConditionValue> value(const ConditionTerm& made) {
    const Token given = token_;
    const bool wants_number = made.subject != Subject::kValue;
    if (given.kind == Token::Kind::kNumber) {
      const auto number = parse_exact_number(given.text);
      const bool is_integer = given.text.find_first_not_of("+-0123456789") == std::string::npos;
      if (!number && is_integer) return fail("an integer out of range (1e30 is not an integer)");
      if (!number) return fail("not a decimal number, or one that is out of the range of a double");
      TRY(advance());
      return ConditionValue(*number);
    }
    if (wants_number) return fail("a number is expected");
    if (given.is_text()) {
      TRY(advance());
      return ConditionValue(given.text);
    }
    if (given.is_word("true") || given.is_word("false")) {
      TRY(advance());
      return ConditionValue(given.is_word("true"));
    }
    if (given.is_word("null")) return fail("null is not compared (try: is null)");
    if (given.kind == Token::Kind::kWord) return fail("a text is written in quotes, and a field is on the left");
    if (given.kind == Token::Kind::kQuotedName)
      return fail("a field is on the left of an operator (a text has ' or \")");
    return fail("a value is expected");
  }

  const std::string_view text_;
  TokenReader reader_;
  Token token_;
  std::size_t end_ = 0;  // of the last token that was taken
  std::size_t patterns_ = 0;
  ConditionParts parts_;
};

}  // namespace

Result<std::shared_ptr<const Condition>> Condition::parse(std::string_view text) {
  if (text.size() > kMostText) {
    return Error{.code = Code::kUnsupported, .detail = fmt::format("a condition has at most {} bytes", kMostText)};
  }
  return ConditionParser(text).run();
}

}  // namespace recordfs
