#include "core/dataset/shard_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/storage.h"
#include "core/database/database.h"
#include "core/dataset/ask_together.h"
#include "core/dataset/directory_entries.h"
#include "core/dataset/log_directory.h"
#include "core/dataset/natural_order.h"
#include "core/dataset/path_errors.h"
#include "core/dataset/pattern.h"
#include "core/formats/foreign_file.h"
#include "core/formats/registry.h"
#include "core/formats/run_names.h"

namespace recordfs {
namespace {

using Paths = std::vector<std::string>;

// Completes a set if at least this many of its files are listed. A single file may be meant by itself.
constexpr std::size_t kLeastListed = 2;
constexpr std::size_t kSpecWidth = 5;  // digits of the numbers that NAME@128 means

enum class Kind : std::uint8_t { kNothing, kFile, kDirectory };

// A path that cannot be examined counts as a file, whose opening tells why.
Kind kind_of(const std::string& path) {
  const auto status = status_of({}, path);
  if (status) return status->kind == SourceKind::kDirectory ? Kind::kDirectory : Kind::kFile;
  const bool is_nothing = is_not_there(status.error()) || status.error().os_error == ENAMETOOLONG;
  return is_nothing ? Kind::kNothing : Kind::kFile;
}

// --- directories and patterns

// What the shards of one set have in common, whatever the total says.
using SetName = std::pair<std::string, std::string>;  // prefix and suffix

SetName set_name(const ShardFamily& family) { return {family.prefix, family.suffix}; }

// Returns the containers in a directory, files that are not empty and have the name of one, so that opening them tells
// why they are none, and damaged files whose names make them shards of the same set as one. A database tells itself
// which of its files are damaged.
Result<Paths> containers_in(const std::string& directory, const IsContainer& is_container, const NamingBounds& bounds) {
  Paths containers;
  Paths others;
  std::set<SetName> sets;
  std::optional<bool> has_database;
  const auto is_damaged = [&](const ListedEntry& entry) {
    if ((entry.kind == SourceKind::kFile && entry.size == 0) || !has_container_name(entry.name)) return false;
    if (!has_database) has_database = database::is_database(directory).value_or(false);
    return !*has_database;
  };
  const auto take = [&](const ListedEntry& entry) -> Result<void> {
    if (entry.name.starts_with('.') || entry.kind == SourceKind::kDirectory) return {};
    std::string path = in_directory(directory, entry.name);
    // A file that cannot be read stays, so that opening it tells why.
    const bool is_known = entry.kind == SourceKind::kFile && is_container(path).value_or(true);
    const bool is_shard = is_known || is_damaged(entry);
    if (entry.kind != SourceKind::kFile && !is_shard) return {};
    const auto shard = parse_shard_name(path);
    if (is_shard && shard) sets.insert(set_name(shard->family));
    if (is_shard) {
      containers.push_back(std::move(path));
    } else if (shard) {
      others.push_back(std::move(path));
    }
    return containers.size() + others.size() > bounds.shards ? Result<void>(too_many(directory, bounds))
                                                             : Result<void>();
  };
  TRY(each_entry_in(directory, take));
  for (std::string& path : others) {
    if (sets.contains(set_name(parse_shard_name(path)->family))) containers.push_back(std::move(path));
  }
  if (containers.empty()) {
    const auto backup = recognize_backup(directory);
    return with_path(directory, Code::kNotFound, backup.value_or("no record container in this directory"));
  }
  std::ranges::sort(containers, is_before);
  return containers;
}

std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns the containers in a directory. If these are runs, or there is none, the runs below it follow, and then the
// subdirectories that cannot be read, so that opening them tells why.
Result<Paths> containers_of(const std::string& directory, const IsContainer& is_container, const NamingBounds& bounds) {
  auto containers = containers_in(directory, is_container, bounds);
  if (!containers && containers.error().code != Code::kNotFound) return containers;
  const auto is_run = [](const std::string& path) { return has_run_name(file_name_of(path)); };
  if (containers && !std::ranges::all_of(*containers, is_run)) return containers;
  auto below = runs_below(directory, bounds);
  if (!below) return containers || below.error().code == Code::kLimit ? below.error() : containers.error();
  if (!containers && below->runs.empty()) return containers;
  Paths paths = containers ? std::move(*containers) : Paths();
  std::ranges::move(below->runs, std::back_inserter(paths));
  std::ranges::move(below->unreadable, std::back_inserter(paths));
  return paths.size() > bounds.shards ? Result<Paths>(too_many(directory, bounds)) : paths;
}

// Returns all files of a directory that are not hidden.
Result<Paths> files_in(const std::string& directory, const NamingBounds& bounds) {
  Paths files;
  TRY(each_file_in(directory, [&](const std::string& name) -> Result<void> {
    if (name.starts_with('.')) return {};
    if (files.size() == bounds.shards) return too_many(directory, bounds);
    files.push_back(in_directory(directory, name));
    return {};
  }));
  std::ranges::sort(files, is_before);
  return files;
}

// `inside` returns the files that a directory means.
Result<Paths> matches_of(const std::string& pattern,
                         const std::function<Result<Paths>(const std::string& directory)>& inside,
                         const NamingBounds& bounds) {
  auto matches = expand_pattern(pattern, bounds.shards);
  if (!matches && matches.error().code == Code::kLimit) return too_many(pattern, bounds);
  if (!matches) return matches;
  if (matches->empty()) return with_path(pattern, Code::kNotFound, "no file matches");
  std::ranges::sort(*matches, is_before);
  Paths paths;
  for (std::string& path : *matches) {
    if (!path.ends_with('/')) {
      paths.push_back(std::move(path));
      continue;
    }
    ASSIGN_OR_RETURN(auto files, inside(path));
    std::ranges::move(files, std::back_inserter(paths));
    if (paths.size() > bounds.shards) return too_many(pattern, bounds);
  }
  return paths;
}

// --- complete sets

// The shards of one set among the paths.
struct Members {
  std::map<std::string, std::size_t> totals;              // number of files for each spelled total
  std::vector<std::pair<ShardName, std::size_t>> shards;  // with the index of the path
};

// Where the shards of a set are.
struct Folder {
  explicit Folder(const ShardFamily& family) : Folder(family.prefix) {}
  explicit Folder(const std::string& path)
      : before(path.substr(0, path.rfind('/') + 1)), directory(before.empty() ? "." : before) {}
  // Returns the path of a file with this name.
  std::string path_of(const std::string& name) const { return before.empty() ? name : in_directory(before, name); }
  std::string before;  // the file name in a path
  std::string directory;
};

// Returns whether both names are of one set, apart from their suffixes.
bool differ_in_suffix(const ShardFamily& one, const ShardFamily& other) {
  return one.prefix == other.prefix && one.total_digits == other.total_digits;
}

// Paths by the numbers of shards.
using PathsByNumber = std::map<std::uint64_t, std::string>;

std::string taken_from(PathsByNumber& paths, std::uint64_t number) {
  const auto found = paths.find(number);
  return found == paths.end() ? std::string() : std::move(found->second);
}

// The shards of a set of which there are files.
struct Present {
  std::vector<bool> numbers;  // by number below the total
  PathsByNumber instead;      // files with other suffixes
};

// `packings` are those of the set.
Result<Present> present(const ShardFamily& family, const std::set<std::string>& packings) {
  const Folder folder(family);
  Present found{.numbers = std::vector<bool>(static_cast<std::size_t>(family.total)), .instead = {}};
  TRY(each_file_in(folder.directory, [&](const std::string& name) -> Result<void> {
    std::string path = folder.path_of(name);
    const auto shard = parse_shard_name(path);
    if (!shard || shard->number >= family.total || !differ_in_suffix(shard->family, family)) return {};
    if (shard->family == family && packings.contains(shard->family.packing)) {
      found.numbers[static_cast<std::size_t>(shard->number)] = true;
    } else {
      found.instead.emplace(shard->number, std::move(path));
    }
    return {};
  }));
  return found;
}

class Completion {
 public:
  // `may_be_missing` tells whether the words mean a path that does not exist.
  Completion(Paths paths, std::function<bool(const std::string& path)> may_be_missing)
      : paths_(std::move(paths)), may_be_missing_(std::move(may_be_missing)), is_surplus_(paths_.size()) {}

  // Completes sets of at least `least` files.
  Result<ShardList> run(std::size_t least, const NamingBounds& bounds) {
    std::map<SetName, Members> sets;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      auto shard = parse_shard_name(paths_[i]);
      if (!shard) continue;
      Members& members = sets[set_name(shard->family)];
      ++members.totals[shard->family.total_digits];
      members.shards.emplace_back(std::move(*shard), i);
    }
    for (auto& [name, members] : sets) {
      if (members.shards.size() < least) continue;
      TRY(complete(members, bounds));
    }
    return result(bounds);
  }

 private:
  Result<void> complete(Members& members, const NamingBounds& bounds) {
    std::ranges::stable_sort(members.shards, {}, [](const auto& member) { return member.first.number; });
    const ShardFamily family = most_frequent(members);
    if (family.total > bounds.shards)
      return too_many(members.shards.front().first.family.wildcard(members.shards.front().first.width), bounds);
    std::vector<std::pair<ShardName, std::size_t>> own;
    for (auto& [shard, index] : members.shards) {
      const bool belongs =
          shard.family == family && shard.number < family.total &&
          (own.empty() || own.back().first.number != shard.number || paths_[own.back().second] == paths_[index]);
      if (belongs) {
        own.emplace_back(std::move(shard), index);
      } else {
        is_surplus_[index] = true;
      }
    }
    return find_missing(family, own, bounds);
  }

  // Of two totals with the same number of files, the larger one counts.
  static ShardFamily most_frequent(const Members& members) {
    const ShardName* best = nullptr;
    std::size_t most = 0;
    for (const auto& [shard, index] : members.shards) {
      const std::size_t files = members.totals.at(shard.family.total_digits);
      if (best != nullptr && (files < most || (files == most && shard.family.total <= best->family.total))) continue;
      best = &shard;
      most = files;
    }
    return best->family;
  }

  Result<void> find_missing(const ShardFamily& family, const std::vector<std::pair<ShardName, std::size_t>>& own,
                            const NamingBounds& bounds) {
    std::set<std::uint64_t> numbers;
    std::set<std::string> packings;
    std::size_t width = SIZE_MAX;
    for (const auto& [shard, index] : own) {
      numbers.insert(shard.number);
      packings.insert(shard.family.packing);
      width = std::min(width, shard.width);
    }
    if (numbers.size() == family.total) return {};
    ASSIGN_OR_RETURN(auto there, present(family, packings));
    auto next = own.begin();
    for (std::uint64_t number = 0; number < family.total; ++number) {
      while (next != own.end() && next->first.number < number) ++next;
      if (there.numbers[static_cast<std::size_t>(number)] || numbers.contains(number)) continue;
      std::string path = family.path(number, width);
      if (!may_be_missing_(path)) continue;
      if (++missing_count_ > bounds.shards) return too_many(path, bounds);
      auto& missing = next == own.begin() ? before_[own.front().second] : after_[std::prev(next)->second];
      missing.push_back({std::move(path), true, taken_from(there.instead, number)});
    }
    return {};
  }

  Result<ShardList> result(const NamingBounds& bounds) {
    ShardList list;
    const auto add_missing = [&list](std::map<std::size_t, std::vector<Shard>>& at, std::size_t index) {
      if (const auto found = at.find(index); found != at.end()) {
        std::ranges::move(found->second, std::back_inserter(list.shards));
      }
    };
    if (paths_.size() + missing_count_ > bounds.shards) return too_many(paths_.front(), bounds);
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      add_missing(before_, i);
      if (is_surplus_[i]) {
        list.surplus.push_back(std::move(paths_[i]));
      } else {
        list.shards.push_back({std::move(paths_[i])});
      }
      add_missing(after_, i);
    }
    return list;
  }

  Paths paths_;
  const std::function<bool(const std::string& path)> may_be_missing_;
  std::vector<bool> is_surplus_;                      // by index of the path
  std::map<std::size_t, std::vector<Shard>> before_;  // missing shards, by the index of the path that they precede
  std::map<std::size_t, std::vector<Shard>> after_;   // ... or follow
  std::size_t missing_count_ = 0;
};

// Returns all shards of a set, and its surplus ones.
Result<ShardList> whole_set(const std::string& word, const ShardFamily& family, std::size_t width,
                            const NamingBounds& bounds) {
  if (family.total > bounds.shards) return too_many(word, bounds);
  const Folder folder(family);
  ShardList list;
  list.shards.resize(static_cast<std::size_t>(family.total));
  std::size_t found = 0;
  PathsByNumber instead;
  TRY(each_file_in(folder.directory, [&](const std::string& name) -> Result<void> {
    std::string path = folder.path_of(name);
    const auto shard = parse_shard_name(path);
    if (!shard) return {};
    if (set_name(shard->family) != set_name(family)) {
      if (differ_in_suffix(shard->family, family)) instead.emplace(shard->number, std::move(path));
      return {};
    }
    const bool belongs = shard->family == family && shard->number < family.total;
    std::string* const place = belongs ? &list.shards[static_cast<std::size_t>(shard->number)].path : nullptr;
    if (place != nullptr && place->empty()) {
      *place = std::move(path);
      ++found;
    } else if (list.surplus.size() < bounds.shards) {
      list.surplus.push_back(std::move(path));
    }
    return {};
  }));
  if (found == 0) return with_path(word, Code::kNotFound, "no shard of this set exists");
  for (std::uint64_t number = 0; number < family.total; ++number) {
    Shard& shard = list.shards[static_cast<std::size_t>(number)];
    if (shard.path.empty()) shard = {family.path(number, width), true, taken_from(instead, number)};
  }
  std::ranges::sort(list.surplus, is_before);
  return list;
}

// What a word means.
enum class Meaning : std::uint8_t { kFile, kDirectory, kSpec, kWildcard, kPattern };

Meaning meaning_of(const std::string& word) {
  const Location location(word);
  if (location.path().size() < location.text().size()) return Meaning::kFile;  // a URL with a query
  // A server has no file with such a name.
  const bool is_remote_pattern = !location.is_local() && word.find('*') != std::string::npos;
  switch (is_remote_pattern ? Kind::kNothing : kind_of(word)) {
    case Kind::kDirectory: return Meaning::kDirectory;
    case Kind::kFile: return Meaning::kFile;
    case Kind::kNothing: break;
  }
  if (parse_sharded_wildcard(word)) return Meaning::kWildcard;
  if (is_pattern(word)) return Meaning::kPattern;
  return parse_sharded_spec(word) ? Meaning::kSpec : Meaning::kFile;
}

// Adds a list to another one.
Result<void> append(ShardList& list, ShardList more, const NamingBounds& bounds) {
  if (more.shards.size() > bounds.shards - list.shards.size()) return too_many(more.shards.front().path, bounds);
  std::ranges::move(more.shards, std::back_inserter(list.shards));
  std::ranges::move(more.surplus, std::back_inserter(list.surplus));
  return {};
}

Result<ShardList> list_set(const std::string& word, Meaning meaning, const IsContainer& is_container,
                           const NamingBounds& bounds) {
  switch (meaning) {
    case Meaning::kFile: return ShardList{.shards = {{word}}, .is_one_file = true};
    case Meaning::kSpec: return whole_set(word, *parse_sharded_spec(word), kSpecWidth, bounds);
    case Meaning::kWildcard: {
      const auto shard = parse_sharded_wildcard(word);
      return whole_set(word, shard->family, shard->width, bounds);
    }
    case Meaning::kDirectory: {
      ASSIGN_OR_RETURN(auto paths, containers_of(word, is_container, bounds));
      return Completion(std::move(paths), [](const std::string&) { return true; }).run(1, bounds);
    }
    case Meaning::kPattern: break;
  }
  const auto containers = [&](const std::string& directory) { return containers_of(directory, is_container, bounds); };
  ASSIGN_OR_RETURN(auto paths, matches_of(word, containers, bounds));
  const auto matches = [&word](const std::string& path) {
    return ::fnmatch(word.c_str(), path.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
  };
  return Completion(std::move(paths), matches).run(1, bounds);
}

}  // namespace

std::size_t ShardList::missing() const {
  return static_cast<std::size_t>(std::ranges::count_if(shards, &Shard::is_missing));
}

Result<ShardList> list_shards(const std::string& word, const IsContainer& is_container, const NamingBounds& bounds) {
  const Meaning meaning = meaning_of(word);
  auto list = list_set(word, meaning, is_container, bounds);
  if (list && meaning == Meaning::kDirectory) {
    const std::size_t named = in_directory(word, "x").size() - 1;
    for (Shard& shard : list->shards) shard.bytes_in_set = shard.path.size() - named;
  }
  return list;
}

Result<ShardList> list_shards(std::span<const std::string> words, const IsContainer& is_container,
                              const NamingBounds& bounds) {
  if (words.size() == 1) return list_shards(words.front(), is_container, bounds);
  ShardList list;
  Paths files;  // consecutive ones
  const auto add_files = [&]() -> Result<void> {
    if (files.empty()) return {};
    ASSIGN_OR_RETURN(auto more, Completion(std::exchange(files, {}), [](const std::string&) {
                                  return true;
                                }).run(kLeastListed, bounds));
    return append(list, std::move(more), bounds);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i % kAskedTogether == 0) ask_together(words.subspan(i));
    const std::string& word = words[i];
    const Meaning meaning = meaning_of(word);
    if (meaning == Meaning::kFile) {
      files.push_back(word);
      continue;
    }
    TRY(add_files());
    ASSIGN_OR_RETURN(auto more, list_set(word, meaning, is_container, bounds));
    TRY(append(list, std::move(more), bounds));
  }
  TRY(add_files());
  if (list.shards.empty()) return Error{.code = Code::kNotFound, .detail = "no file is named"};
  return list;
}

Result<std::vector<std::string>> list_files(const std::string& word, const NamingBounds& bounds) {
  const Meaning meaning = meaning_of(word);
  if (meaning == Meaning::kFile) return kind_of(word) == Kind::kFile ? Paths{word} : Paths{};
  if (meaning == Meaning::kDirectory) return files_in(word, bounds);
  if (meaning == Meaning::kPattern) {
    const auto inside = [&](const std::string& directory) -> Result<Paths> {
      return files_in(directory, bounds).value_or(Paths{});
    };
    auto matches = matches_of(word, inside, bounds);
    return !matches && matches.error().code == Code::kNotFound ? Paths{} : matches;
  }
  const auto set = list_set(word, meaning, {}, bounds);
  if (!set && set.error().code == Code::kNotFound) return Paths{};
  if (!set) return set.error();
  Paths paths;
  for (const Shard& shard : set->shards) {
    if (!shard.is_missing) paths.push_back(shard.path);
  }
  return paths;
}

std::vector<std::string> directories_of(const std::string& word) {
  switch (meaning_of(word)) {
    case Meaning::kFile: return kind_of(word) == Kind::kNothing ? Paths{Folder(word).directory} : Paths{};
    case Meaning::kDirectory: return {word};
    case Meaning::kSpec:
    case Meaning::kWildcard: return {Folder(word).directory};
    case Meaning::kPattern: break;
  }
  const std::size_t wildcard = word.find_first_of("*?[\\");
  Paths directories{Folder(word.substr(0, wildcard)).directory};
  for (std::size_t slash = word.find('/', wildcard);; slash = word.find('/', slash + 1)) {
    auto matches = expand_pattern(word.substr(0, slash) + '/', kMostShards);
    if (matches) {
      std::ranges::sort(*matches);
      std::ranges::move(*matches, std::back_inserter(directories));
    }
    if (slash == std::string::npos) return directories;
  }
}

std::string absolute_word(const std::string& word) {
  std::string absolute = Location(word).absolute().text();
  const Meaning meaning = meaning_of(word);
  if (absolute == word || (meaning != Meaning::kPattern && meaning != Meaning::kWildcard)) return absolute;
  std::string escaped;
  for (const char c : absolute.substr(0, absolute.size() - word.size())) {
    if (c == '\\' || is_pattern({&c, 1})) escaped += '\\';
    escaped += c;
  }
  return escaped + word;
}

bool names_set(const std::string& word) { return meaning_of(word) != Meaning::kFile; }

}  // namespace recordfs
