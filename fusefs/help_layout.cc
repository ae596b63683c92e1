#include "fusefs/help_layout.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace recordfs {
namespace {

constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kLeastWidth = 40;

// Returns how far the lines after the first one are indented if a line is wrapped.
std::size_t hanging_indent(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = begin > 0 ? line.find("  ", begin) : std::string_view::npos;
  const std::size_t text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string_view::npos ? begin : text;
}

}  // namespace

std::size_t help_width() {
  winsize size{};
  const bool is_known = ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_known && size.ws_col > 0 ? std::max<std::size_t>(size.ws_col, kLeastWidth) : kUsualWidth;
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t indent = std::min(hanging_indent(line), width / 2);
    while (line.size() > width) {
      std::size_t at = line.rfind(' ', width);
      if (at == std::string::npos || line.find_first_not_of(' ') >= at || at < indent) at = line.find(' ', width);
      if (at == std::string::npos) break;
      result += line.substr(0, line.find_last_not_of(' ', at) + 1) + '\n';
      line = std::string(indent, ' ') + line.substr(std::min(line.find_first_not_of(' ', at), line.size()));
    }
    result += line + '\n';
  }
  return result;
}

}  // namespace recordfs
