#include "core/decoding/picked_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

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

// Follows the paths through a text.
class FieldSearch {
 public:
  // What is left of a path.
  struct Rest {
    std::string_view path;
    std::size_t field;
  };
  using Rests = std::vector<Rest>;

  explicit FieldSearch(const FieldPaths& fields) : fields_(fields) {
    fields.has_looked_ = true;
    for (const auto& [path, field] : fields.paths_) all_.push_back({path, field});
  }

  const Rests& all() const { return all_; }

  void each_value(std::string_view value, const Rests& rests, const std::function<void(std::string_view)>& take) const {
    if (ends_any(rests)) return each_leaf(value, take);
    if (value.starts_with('[')) {
      each_element(value, [&](std::string_view element) { each_value(element, rests, take); });
    } else if (value.starts_with('{')) {
      each_json_member(value, [&](std::string_view name, std::string_view member) {
        if (const Rests into = rests_in(rests, name); !into.empty()) each_value(member, into, take);
      });
    }
  }

  // Appends the parts of a value to which one of the paths leads. Returns whether there is any.
  bool append_picked(std::string& text, std::string_view value, const Rests& rests) const {
    if (ends_any(rests)) {
      text += value;
      return true;
    }
    const bool is_list = value.starts_with('[');
    if (!is_list && !value.starts_with('{')) return false;
    const std::size_t before = text.size();
    text += value.front();
    bool has_part = false;
    const auto add = [&](std::string_view name, std::string_view part, const Rests& into) {
      const std::size_t end = text.size();
      if (has_part) text += ',';
      if (!is_list) (text.append(1, '"') += name) += "\":";
      const bool is_picked = append_picked(text, part, into);
      if (!is_picked) text.resize(end);
      has_part = has_part || is_picked;
    };
    if (is_list) {
      each_element(value, [&](std::string_view element) { add({}, element, rests); });
    } else {
      each_json_member(value, [&](std::string_view name, std::string_view member) {
        if (const Rests into = rests_in(rests, name); !into.empty()) add(name, member, into);
      });
    }
    text += is_list ? ']' : '}';
    if (!has_part) text.resize(before);
    return has_part;
  }

 private:
  // Returns whether a path ends here, and marks its field as found.
  bool ends_any(const Rests& rests) const {
    bool has_end = false;
    for (const Rest& rest : rests) {
      if (!rest.path.empty()) continue;
      has_end = true;
      if (!fields_.found_[rest.field]) fields_.found_[rest.field] = true;
    }
    return has_end;
  }

  static Rests rests_in(const Rests& rests, std::string_view name) {
    Rests into;
    for (const Rest& rest : rests) {
      if (const auto path = rest_of(rest.path, name)) into.push_back({*path, rest.field});
    }
    return into;
  }

  static void each_leaf(std::string_view value, const std::function<void(std::string_view)>& take) {
    constexpr std::string_view kBase64 = R"({"base64":")";
    if (value.starts_with('[')) {
      return each_element(value, [&](std::string_view element) { each_leaf(element, take); });
    }
    if (value.starts_with(kBase64) && value.size() == kBase64.size() + string_size(value.substr(kBase64.size() - 1))) {
      if (const auto bytes = bytes_of_base64(value.substr(kBase64.size(), value.size() - kBase64.size() - 2))) {
        return take(*bytes);
      }
    }
    if (value.starts_with('{')) {
      return each_json_member(value, [&](std::string_view, std::string_view member) { each_leaf(member, take); });
    }
    if (value.size() < 2 || value.front() != '"') return take(value);
    std::string content;
    append_content(content, value);
    take(content);
  }

  const FieldPaths& fields_;
  Rests all_;
};

FieldPaths::FieldPaths(const std::vector<std::string>& paths)
    : fields_(paths), found_(std::make_unique<std::atomic<bool>[]>(paths.size())) {
  constexpr std::array kPlaces = {"", "features.feature.", "context.feature.", "feature_lists.feature_list."};
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    for (const char* place : kPlaces) paths_.push_back({place + as_written(fields_[field]), field});
  }
}

void FieldPaths::each_value(std::string_view json, const std::function<void(std::string_view)>& take) const {
  const FieldSearch search(*this);
  search.each_value(json, search.all(), take);
}

std::string FieldPaths::pick(std::string_view json) const {
  const FieldSearch search(*this);
  std::string text;
  if (search.append_picked(text, json, search.all())) return text;
  return json.starts_with('[') ? "[]" : json.starts_with('{') ? "{}" : "null";
}

std::vector<std::string> FieldPaths::absent() const {
  std::vector<std::string> absent;
  for (std::size_t field = 0; has_looked_ && field < fields_.size(); ++field) {
    if (!found_[field]) absent.push_back(fields_[field]);
  }
  return absent;
}

}  // namespace recordfs
