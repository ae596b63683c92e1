// Matcher: whether a record matches what somebody looks for, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

struct MatchRules {
  bool ignores_case = false;
  bool is_literal = false;  // patterns are text, no regular expressions
};

// A stretch of a record.
struct Match {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// A record matches where any of the patterns does. Patterns are RE2's, and a record is one text, as with `grep -z`:
// `.` is any character, a newline too; `^` and `$` match at the beginning and the end of each of its lines. Characters
// are those of UTF-8. In a record that is no UTF-8 each byte counts as a character if nothing is found otherwise, and
// so it does in all records where a pattern is no UTF-8.
//
// Const, any thread.
class Matcher {
 public:
  // Fails with kUnsupported where a pattern is none; the detail is meant for people.
  static Result<std::unique_ptr<const Matcher>> make(const std::vector<std::string>& patterns, MatchRules rules);
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  bool matches(std::string_view record) const;
  // The first match that begins at `from` or behind; of several that begin there, the one that RE2 prefers.
  // REQUIRES: from <= record.size().
  std::optional<Match> find(std::string_view record, std::size_t from) const;

  // The text that those records have that match, and no others, where there is such a text; empty otherwise.
  std::string_view literal() const { return literal_; }

 private:
  struct Expressions;
  explicit Matcher(std::string literal, std::unique_ptr<const Expressions> expressions);

  const std::string literal_;
  const std::unique_ptr<const Expressions> expressions_;
};

// Where `text` begins in `bytes` at `from` or behind; npos where it does not. Any thread.
std::size_t find_text(std::string_view bytes, std::string_view text, std::size_t from);

}  // namespace recordfs
