#include "core/decoding/picked_json.h"

#include <algorithm>
#include <cstddef>

#include "core/decoding/json_writer.h"

namespace recordfs {
namespace {

// Returns the size of the string that `text` begins with, with its quotes.
std::size_t string_size(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Returns the size of the value that `text` begins with.
std::size_t value_size(std::string_view text) {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at += string_size(text.substr(at));
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    ++at;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return at;
}

// Calls `take` with each element of a list.
template <class Take>
void each_element(std::string_view list, const Take& take) {
  list.remove_prefix(1);
  while (!list.empty() && list.front() != ']') {
    const std::size_t size = value_size(list);
    take(list.substr(0, size));
    list.remove_prefix(size);
    if (!list.starts_with(',')) return;
    list.remove_prefix(1);
  }
}

// Returns what is left of a path after a member's name: empty if the path ends there; nullopt if it does not lead
// there.
std::optional<std::string_view> rest_of(std::string_view path, std::string_view name) {
  if (!path.starts_with(name)) return std::nullopt;
  path.remove_prefix(name.size());
  if (path.empty()) return path;
  if (path.front() != '.' || path.size() == 1) return std::nullopt;
  return path.substr(1);
}

// Returns a path as its names are written in JSON.
std::string as_written(std::string_view path) {
  std::string text;
  append_json_string(text, path);
  return text.substr(1, text.size() - 2);
}

char unescaped(char letter) {
  switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return letter;
  }
}

int digit_of(char hex) { return hex <= '9' ? hex - '0' : (hex | 0x20) - 'a' + 10; }

// Appends the content of a string. append_json_string() writes \u only for control characters.
void append_content(std::string& text, std::string_view string) {
  string = string.substr(1, string.size() - 2);
  for (std::size_t at = 0; at < string.size(); ++at) {
    if (string[at] != '\\' || at + 1 == string.size()) {
      text += string[at];
    } else if (string[++at] != 'u' || at + 4 >= string.size()) {
      text += unescaped(string[at]);
    } else {
      text += static_cast<char>(digit_of(string[at + 3]) * 16 + digit_of(string[at + 4]));
      at += 4;
    }
  }
}

// Collects the values at a path.
class Collector {
 public:
  std::optional<std::string> run(std::string_view json, std::string_view path) {
    collect(json, path);
    if (!has_value_) return std::nullopt;
    return std::move(text_);
  }

 private:
  void collect(std::string_view value, std::string_view path) {
    if (value.starts_with('[')) {
      each_element(value, [&](std::string_view element) { collect(element, path); });
    } else if (path.empty()) {
      add(value);
    } else if (value.starts_with('{')) {
      each_json_member(value, [&](std::string_view name, std::string_view member) {
        if (const auto rest = rest_of(path, name)) collect(member, *rest);
      });
    }
  }

  void add(std::string_view value) {
    if (has_value_) text_ += '\n';
    has_value_ = true;
    if (value.size() >= 2 && value.front() == '"') {
      append_content(text_, value);
    } else {
      text_ += value;
    }
  }

  std::string text_;
  bool has_value_ = false;
};

// Appends the parts of a value to which one of the paths leads. Returns whether there is any.
bool append_picked(std::string& text, std::string_view value, const std::vector<std::string_view>& paths) {
  if (std::ranges::any_of(paths, [](std::string_view path) { return path.empty(); })) {
    text += value;
    return true;
  }
  const bool is_list = value.starts_with('[');
  if (!is_list && !value.starts_with('{')) return false;
  const std::size_t before = text.size();
  text += value.front();
  bool has_part = false;
  const auto add = [&](std::string_view name, std::string_view part, const std::vector<std::string_view>& into) {
    const std::size_t end = text.size();
    if (has_part) text += ',';
    if (!is_list) (text.append(1, '"') += name) += "\":";
    const bool is_picked = append_picked(text, part, into);
    if (!is_picked) text.resize(end);
    has_part = has_part || is_picked;
  };
  if (is_list) {
    each_element(value, [&](std::string_view element) { add({}, element, paths); });
  } else {
    each_json_member(value, [&](std::string_view name, std::string_view member) {
      std::vector<std::string_view> rests;
      for (const std::string_view path : paths) {
        if (const auto rest = rest_of(path, name)) rests.push_back(*rest);
      }
      if (!rests.empty()) add(name, member, rests);
    });
  }
  text += is_list ? ']' : '}';
  if (!has_part) text.resize(before);
  return has_part;
}

}  // namespace

void each_json_member(std::string_view object,
                      const std::function<void(std::string_view name, std::string_view value)>& take) {
  if (!object.starts_with('{')) return;
  object.remove_prefix(1);
  while (object.starts_with('"')) {
    const std::size_t name_size = string_size(object);
    const std::string_view name = object.substr(1, std::max<std::size_t>(name_size, 2) - 2);
    object.remove_prefix(name_size);
    if (!object.starts_with(':')) return;
    object.remove_prefix(1);
    const std::size_t size = value_size(object);
    take(name, object.substr(0, size));
    object.remove_prefix(size);
    if (object.starts_with(',')) object.remove_prefix(1);
  }
}

std::optional<std::string> json_text_at(std::string_view json, std::string_view path) {
  return Collector().run(json, as_written(path));
}

std::string pick_json(std::string_view json, const std::vector<std::string>& paths) {
  std::vector<std::string> written;
  written.reserve(paths.size());
  for (const std::string& path : paths) written.push_back(as_written(path));
  std::string text;
  if (append_picked(text, json, {written.begin(), written.end()})) return text;
  return json.starts_with('[') ? "[]" : json.starts_with('{') ? "{}" : "null";
}

}  // namespace recordfs
