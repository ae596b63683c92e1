#include "core/search/record_matcher.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/stringpiece.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::int64_t kPatternMemory = 64 << 20;  // bytes per compiled pattern and its states

// Returns whether a pattern matches only itself.
bool is_plain(std::string_view pattern, MatchRules rules) {
  if (rules.ignores_case || rules.is_whole || rules.is_word) return false;
  return rules.is_literal || pattern.find_first_of("\\^$.|?*+()[]{}") == std::string_view::npos;
}

std::string joined(const std::vector<std::string>& patterns, MatchRules rules) {
  if (patterns.empty()) return "a\\Ab";
  if (patterns.size() == 1 && !rules.is_literal) return patterns.front();
  std::string all;
  for (const std::string& pattern : patterns) {
    if (!all.empty()) all += '|';
    all += fmt::format("(?:{})", rules.is_literal ? RE2::QuoteMeta(pattern) : pattern);
  }
  return all;
}

// Returns the expression for all patterns. With is_word, the match is its first group.
std::string expression(const std::vector<std::string>& patterns, MatchRules rules, bool by_bytes) {
  const std::string all = joined(patterns, rules);
  if (rules.is_whole) return fmt::format("(?sm)\\A(?:{})\\z", all);
  if (!rules.is_word) return "(?sm)" + all;
  const std::string_view other = by_bytes ? "[^0-9A-Za-z_]" : R"([^\pL\pN\pM_])";
  return fmt::format("(?sm)(?:\\A|{})({})(?:\\z|{})", other, all, other);
}

RE2::Options options_of(MatchRules rules, bool by_bytes) {
  RE2::Options options(by_bytes ? RE2::Latin1 : RE2::DefaultOptions);
  options.set_case_sensitive(!rules.ignores_case);
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  return options;
}

bool compiles(const std::string& pattern, MatchRules rules, std::string& why) {
  const RE2 alone("(?sm)" + pattern, options_of(rules, !is_utf8(pattern)));
  why = RE2(pattern, options_of(rules, !is_utf8(pattern))).error();
  return alone.ok();
}

}  // namespace

class RecordMatcher::Expressions {
 public:
  Expressions(const std::vector<std::string>& patterns, MatchRules rules, bool has_characters)
      : characters_(has_characters
                        ? std::make_unique<const RE2>(expression(patterns, rules, false), options_of(rules, false))
                        : nullptr),
        bytes_(expression(patterns, rules, true), options_of(rules, true)),
        group_(rules.is_word && !rules.is_whole ? 1 : 0) {}

  bool ok() const { return bytes_.ok() && (!characters_ || characters_->ok()); }
  std::string error() const { return bytes_.ok() ? characters_->error() : bytes_.error(); }

  // `found`: null if the position is not needed.
  bool find(std::string_view record, std::size_t from, re2::StringPiece* found) const {
    // Some builds of re2 do not convert from std::string_view.
    const re2::StringPiece text(record.data(), record.size());
    std::array<re2::StringPiece, 2> groups;  // the whole match, and its first group
    const int wanted = found != nullptr ? group_ + 1 : 0;
    const auto search = [&](const RE2& expression) {
      return expression.Match(text, from, text.size(), RE2::UNANCHORED, groups.data(), wanted);
    };
    const bool matches = characters_ ? search(*characters_) || (!is_utf8(record) && search(bytes_)) : search(bytes_);
    if (matches && found != nullptr) *found = groups[static_cast<std::size_t>(group_)];
    return matches;
  }

 private:
  const std::unique_ptr<const RE2> characters_;  // null if a pattern is not UTF-8
  const RE2 bytes_;
  const int group_;  // that is the match
};

std::size_t find_text(std::string_view bytes, std::string_view text, std::size_t from) {
  if (text.empty()) return from;
  if (text.size() > bytes.size() - from) return std::string_view::npos;
  const void* found = ::memmem(bytes.data() + from, bytes.size() - from, text.data(), text.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
}

Result<std::unique_ptr<const RecordMatcher>> RecordMatcher::make(const std::vector<std::string>& patterns,
                                                                 MatchRules rules) {
  if (patterns.size() == 1 && is_plain(patterns.front(), rules)) {
    return std::unique_ptr<const RecordMatcher>(new RecordMatcher(patterns.front(), nullptr));
  }
  if (!rules.is_literal) {
    // Compiles each alone, because joined patterns may mean something else.
    for (const std::string& pattern : patterns) {
      std::string why;
      if (!compiles(pattern, rules, why)) {
        return Error{.code = Code::kUnsupported, .detail = fmt::format("{}: {}", pattern, why)};
      }
    }
  }
  const bool has_characters = std::ranges::all_of(patterns, [](const std::string& one) { return is_utf8(one); });
  auto expressions = std::make_unique<const Expressions>(patterns, rules, has_characters);
  if (!expressions->ok()) return Error{.code = Code::kUnsupported, .detail = expressions->error()};
  return std::unique_ptr<const RecordMatcher>(new RecordMatcher({}, std::move(expressions)));
}

RecordMatcher::RecordMatcher(std::string literal, std::unique_ptr<const Expressions> expressions)
    : literal_(std::move(literal)), expressions_(std::move(expressions)) {}

RecordMatcher::~RecordMatcher() = default;

bool RecordMatcher::matches(std::string_view record) const {
  if (expressions_) return expressions_->find(record, 0, nullptr);
  return find_text(record, literal_, 0) != std::string_view::npos;
}

std::optional<Match> RecordMatcher::find(std::string_view record, std::size_t from) const {
  if (!expressions_) {
    const std::size_t begin = find_text(record, literal_, from);
    if (begin == std::string_view::npos) return std::nullopt;
    return Match{begin, literal_.size()};
  }
  re2::StringPiece found;
  if (!expressions_->find(record, from, &found)) return std::nullopt;
  return Match{static_cast<std::size_t>(found.data() - record.data()), found.size()};
}

std::vector<Match> RecordMatcher::find_all(std::string_view record) const {
  std::vector<Match> matches;
  for (std::size_t at = 0; at <= record.size();) {
    const auto match = find(record, at);
    if (!match) break;
    if (match->size > 0) matches.push_back(*match);
    at = match->begin + std::max<std::size_t>(match->size, 1);
  }
  return matches;
}

}  // namespace recordfs
