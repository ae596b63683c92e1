// Patterns: whether a record matches, and where. The only unit that depends on RE2.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

struct MatchRules {
  bool ignores_case = false;
  bool is_literal = false;  // patterns are plain text
  bool is_whole = false;    // a match is the whole record
  bool is_word = false;     // a match has no letter, digit or underscore before and after it
};

// A range of a record.
struct Match {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// Returns where `text` begins in `bytes`, at `from` or later, or npos. Thread-safe.
std::size_t find_text(std::string_view bytes, std::string_view text, std::size_t from);

// A record matches if any pattern does. Patterns are RE2's. A record is one text, as with `grep -z`: `.` matches any
// character, even a newline, and `^` and `$` match at each line. Characters are UTF-8. Bytes are characters if a
// pattern is not UTF-8, or if a record is not UTF-8 and matches in no other way. Without patterns nothing matches.
//
// Immutable and thread-safe.
class RecordMatcher {
 public:
  // Fails with kUnsupported if a pattern is invalid; the detail is a message.
  static Result<std::unique_ptr<const RecordMatcher>> make(const std::vector<std::string>& patterns, MatchRules rules);
  ~RecordMatcher();
  RecordMatcher(const RecordMatcher&) = delete;
  RecordMatcher& operator=(const RecordMatcher&) = delete;

  bool matches(std::string_view record) const;
  // Returns the first match that begins at `from` or later. RE2 decides between matches at one position.
  // REQUIRES: from <= record.size().
  std::optional<Match> find(std::string_view record, std::size_t from) const;
  // Returns the matches, in order, without empty ones. They do not overlap.
  std::vector<Match> find_all(std::string_view record) const;

  // Returns the text that exactly the matching records contain, or an empty string if there is no such text.
  std::string_view literal() const { return literal_; }

 private:
  class Expressions;
  RecordMatcher(std::string literal, std::unique_ptr<const Expressions> expressions);

  const std::string literal_;
  const std::unique_ptr<const Expressions> expressions_;  // null: there is a literal text
};

}  // namespace recordfs
