#include "fusefs/terminal.h"

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

namespace recordfs {
namespace {

// Returns the value of a variable of the environment; empty if it has none.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// Returns the name of the locale for characters.
std::string_view locale_name() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const std::string_view value = variable(name); !value.empty()) return value;
  }
  return {};
}

}  // namespace

bool shows_utf8() {
  const std::string_view locale = locale_name();
  const std::size_t dot = locale.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string codeset(locale.substr(dot + 1, locale.find('@', dot) - dot - 1));
  return ::strcasecmp(codeset.c_str(), "UTF-8") == 0 || ::strcasecmp(codeset.c_str(), "utf8") == 0;
}

bool can_erase_line() {
  const std::string_view terminal = variable("TERM");
  return !terminal.empty() && terminal != "dumb";
}

std::size_t columns_of(int descriptor) {
  struct winsize size {};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool is_ascii_terminal(int descriptor) { return ::isatty(descriptor) == 1 && !shows_utf8(); }

std::string ascii_of(std::string_view text) {
  std::string ascii;
  ascii.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      ascii += c;
    } else {
      fmt::format_to(std::back_inserter(ascii), "\\x{:02x}", byte);
    }
  }
  return ascii;
}

}  // namespace recordfs
