#include "core/fetch/http_headers.h"

#include <algorithm>

#include "core/base/parse_number.h"

namespace recordfs::fetch {
namespace {

std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }

// Returns the status of "HTTP/1.1 206 Partial Content"; 0: invalid.
long status_of_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  const std::string_view rest = without_spaces(line.substr(space));
  constexpr std::size_t kDigits = 3;
  if (rest.size() < kDigits || (rest.size() > kDigits && rest[kDigits] != ' ')) return 0;
  return parse_number<unsigned short>(rest.substr(0, kDigits)).value_or(0);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes";
  text = without_spaces(text);
  if (lower_case(text.substr(0, kUnit.size())) != kUnit) return std::nullopt;
  text = without_spaces(text.substr(kUnit.size()));
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = without_spaces(text.substr(0, slash));
  const std::string_view total = without_spaces(text.substr(slash + 1));
  ContentRange result;
  if (total != "*") {
    result.total = parse_number<std::uint64_t>(total);
    if (!result.total) return std::nullopt;
  }
  if (range == "*") return result;
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_number<std::uint64_t>(range.substr(0, dash));
  const auto last = parse_number<std::uint64_t>(range.substr(dash + 1));
  if (!first || !last || *last < *first || *last == UINT64_MAX) return std::nullopt;
  if (result.total && *last >= *result.total) return std::nullopt;
  result.begin = *first;
  result.end = *last + 1;
  return result;
}

bool is_strong_etag(std::string_view etag) { return etag.size() >= 2 && etag.front() == '"' && etag.back() == '"'; }

HeaderCollector::State HeaderCollector::add(std::string_view line) {
  if (is_complete_) return State::kMore;
  bytes_ += line.size();
  if (bytes_ > kMostBytes) return State::kTooLong;
  const std::string_view text = without_spaces(line);
  if (text.empty()) {
    is_complete_ = response_.status >= 200 || response_.status == 0;
    return is_complete_ ? State::kComplete : State::kMore;
  }
  if (line.starts_with("HTTP/")) {
    response_ = {};
    response_.status = status_of_line(text);
    return State::kMore;
  }
  // A line that continues the one before is obsolete (RFC 9112, 5.2); no header that matters here has one. Control
  // characters could end a line of a later request that has the value in it.
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t') return State::kMore;
  if (std::ranges::any_of(text, [](char c) { return is_control(c) && c != '\t'; })) return State::kMore;
  response_.headers.emplace_back(lower_case(without_spaces(text.substr(0, colon))),
                                 without_spaces(text.substr(colon + 1)));
  return State::kMore;
}

std::string message_text(std::string_view text, std::size_t most) {
  constexpr std::string_view kCut = "...";
  std::string result(text.substr(0, most));
  std::ranges::replace_if(result, is_control, '?');
  if (text.size() > most && most > kCut.size()) result.replace(most - kCut.size(), kCut.size(), kCut);
  return result;
}

}  // namespace recordfs::fetch
