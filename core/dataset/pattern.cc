#include "core/dataset/pattern.h"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "core/base/storage.h"
#include "core/dataset/path_errors.h"

namespace recordfs {
namespace {

// A part of a pattern between slashes.
struct Component {
  std::string pattern;
  std::string plain;  // without backslashes that escape
  bool has_wildcard = false;
  bool is_directory = false;  // a slash follows
  bool is_last = false;
};

std::string without_escapes(std::string_view pattern) {
  std::string plain;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    plain += pattern[i];
  }
  return plain;
}

class Expansion {
 public:
  explicit Expansion(std::size_t most) : most_(most) {}

  // Appends what a component matches in a directory, whose path is empty or ends with a slash.
  Result<void> add(const std::string& directory, const Component& component) {
    if (!component.has_wildcard) {
      const std::string path = directory + component.plain;
      if (!component.is_last) return add(path + '/');
      const auto status = status_of({}, path);
      const bool is_directory = status && status->kind == SourceKind::kDirectory;
      if (is_directory || (status && !component.is_directory)) return add(is_directory ? path + '/' : path);
      if (status) return {};
      if (!is_not_there(status.error())) return add_unreadable(path);
    }
    // Finds a plain name too if it is a link that leads nowhere.
    const auto matches = [&component](const std::string& name) {
      return component.has_wildcard ? ::fnmatch(component.pattern.c_str(), name.c_str(), FNM_PERIOD) == 0
                                    : name == component.plain;
    };
    const Location listed(directory.empty() ? "." : directory);
    const auto in_text = [&listed](const std::string& name) { return listed.storage().name_in_text(listed, name); };
    // A pattern of URLs may have characters encoded.
    const auto wanted = [&](const std::string& name) {
      return matches(name) || (!listed.is_local() && matches(in_text(name)));
    };
    bool has_failed = false;  // to add one
    auto done = listed.storage().list({}, listed, wanted, [&](const ListedEntry& entry) -> Result<void> {
      const bool is_directory = entry.kind == SourceKind::kDirectory;
      if (component.is_directory && !is_directory) return {};
      auto added = add(directory + in_text(entry.name) + (is_directory ? "/" : ""));
      has_failed = !added;
      return added;
    });
    if (done || has_failed) return done;
    const Error& why = done.error();
    if (is_not_there(why)) return {};
    if (why.os_error == EACCES && listed.is_local()) return add_unreadable(listed.text());
    return with_path(listed.text(), why.code, why.detail, why.os_error);
  }

  std::vector<std::string> paths() { return std::exchange(paths_, {}); }
  // Returns what cannot be examined, and may match.
  std::vector<std::string> unreadable() { return std::move(unreadable_); }

 private:
  // Unlike a shell, names what it may not read, so that opening it tells why.
  Result<void> add_unreadable(std::string path) {
    if (unreadable_.size() == most_) return too_many();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();  // it is no directory whose content is meant
    unreadable_.push_back(std::move(path));
    return {};
  }
  Result<void> add(std::string path) {
    if (paths_.size() == most_) return too_many();
    paths_.push_back(std::move(path));
    return {};
  }

  static Error too_many() { return {.code = Code::kLimit, .detail = "a pattern that matches too many files"}; }

  const std::size_t most_;
  std::vector<std::string> paths_;
  std::vector<std::string> unreadable_;
};

}  // namespace

Result<std::vector<std::string>> expand_pattern(const std::string& pattern, std::size_t most) {
  // All up to the last slash before the first wildcard is plain.
  const std::size_t wildcard = std::min(pattern.find_first_of("*?[\\"), pattern.size());
  const std::size_t plain = pattern.rfind('/', wildcard) + 1;
  std::vector<std::string> paths{pattern.substr(0, plain)};
  Expansion expansion(most);
  for (std::size_t begin = plain; begin < pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', begin), pattern.size());
    const std::size_t next = std::min(pattern.find_first_not_of('/', end), pattern.size());
    const std::string name = pattern.substr(begin, end - begin);
    const Component component{.pattern = name,
                              .plain = without_escapes(name),
                              .has_wildcard = is_pattern(name),
                              .is_directory = end < pattern.size(),
                              .is_last = next == pattern.size()};
    for (const std::string& directory : paths) TRY(expansion.add(directory, component));
    paths = expansion.paths();
    begin = next;
  }
  std::ranges::move(expansion.unreadable(), std::back_inserter(paths));
  return paths;
}

}  // namespace recordfs
