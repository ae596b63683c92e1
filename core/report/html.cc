#include "core/report/html.h"

#include <algorithm>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

std::string escaped_html(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace

std::string html(std::string_view text) { return escaped_html(printable(text)); }

std::string html_lines(std::string_view text) {
  constexpr std::string_view kKept = "\n\t";
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(kKept), text.size());
    result += html(text.substr(0, end));
    if (end < text.size()) result += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string html_isolated(std::string_view text) { return "<bdi>" + html(text) + "</bdi>"; }

}  // namespace recordfs
