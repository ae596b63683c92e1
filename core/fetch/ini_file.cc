#include "core/fetch/ini_file.h"

#include <algorithm>
#include <utility>

#include "core/fetch/environment.h"

namespace recordfs::fetch {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Returns the name in "[name]", without quotes and with single spaces: "profile x".
std::string section_name(std::string_view line) {
  const std::string_view inside = trimmed(line.substr(1, line.rfind(']') - 1));
  std::string name;
  bool is_quoted = false;
  for (const char c : inside) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == '\t' || (c == ' ' && !is_quoted && name.ends_with(' '))) {
      if (!name.ends_with(' ')) name += ' ';
    } else {
      name += c;
    }
  }
  return name;
}

}  // namespace

Result<IniFile> parse_ini(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  IniFile file;
  IniSection* section = nullptr;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const std::string_view line = trimmed(whole);
    const bool is_indented = whole.starts_with(' ') || whole.starts_with('\t');
    if (line.empty() || line[0] == '#' || line[0] == ';' || (is_indented && section != nullptr)) continue;
    const std::size_t separator = line.find_first_of("=:");
    if (line[0] == '[' && line.find(']') != std::string_view::npos) {
      section = &file[section_name(line)];
    } else if (section != nullptr && separator != std::string_view::npos && separator != 0) {
      (*section)[in_lower_case(trimmed(line.substr(0, separator)))] = trimmed(line.substr(separator + 1));
    } else {
      return unsupported("line " + std::to_string(number) + " is neither a section nor a setting");
    }
  }
  return file;
}

}  // namespace recordfs::fetch
