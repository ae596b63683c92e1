#include "core/fetch/http_failure.h"

#include <cerrno>

#include "core/base/utf8.h"

namespace recordfs::fetch {
namespace {

std::string_view usual_words(long status) {
  switch (status) {
    case 400: return "bad request";
    case 401: return "credentials are required";
    case 403: return "access denied";
    case 404: return "not found";
    case 405: return "method not allowed";
    case 407: return "the proxy requires credentials";
    case 408: return "request timed out";
    case 410: return "gone";
    case 412: return "the object has changed";
    case 416: return "range not satisfiable";
    case 429: return "too many requests";
    case 500: return "internal server error";
    case 501: return "not implemented";
    case 502: return "bad gateway";
    case 503: return "service unavailable";
    case 504: return "gateway timed out";
    default: return "unexpected response";
  }
}

int os_error_of(long status) {
  switch (status) {
    case 401:
    case 403:
    case 407: return EACCES;
    case 404:
    case 410: return ENOENT;
    case 408:
    case 504: return ETIMEDOUT;
    default: return EIO;
  }
}

}  // namespace

bool may_pass(long status) {
  switch (status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
    case 509:
    case 598:
    case 599: return true;
    default: return false;
  }
}

Failure http_failure(long status, const std::string& explanation) {
  const std::string words = explanation.empty() ? std::string(usual_words(status)) : explanation;
  Error error{.code = Code::kIo, .detail = "HTTP " + std::to_string(status) + ": " + words};
  if (status == 412) {
    error.code = Code::kChanged;
  } else {
    error.os_error = os_error_of(status);
  }
  return {may_pass(status) ? Advice::kRetry : Advice::kFail, std::move(error)};
}

std::string quoted_text(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string line;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_character(text), 1);
    const std::string character = recordfs::printable(text.substr(0, length));
    if (line.size() + character.size() > kLongest) return line + "...";
    line += character;
    text.remove_prefix(length);
  }
  return line;
}

void append_range(const ObjectRange& range, HttpRequest& request) {
  if (range.end != 0) {
    request.headers.push_back("Range: bytes=" + std::to_string(range.begin) + "-" + std::to_string(range.end - 1));
  }
  if (!range.if_match.empty()) request.headers.push_back("If-Match: " + range.if_match);
}

}  // namespace recordfs::fetch
