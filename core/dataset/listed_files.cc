#include "core/dataset/listed_files.h"

#include <fnmatch.h>
#include <fts.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "core/base/location.h"
#include "core/base/storage.h"
#include "core/dataset/ask_together.h"

namespace recordfs {
namespace {

int by_name(const FTSENT** one, const FTSENT** other) { return std::strcmp((*one)->fts_name, (*other)->fts_name); }

struct CloseTree {
  void operator()(FTS* tree) const { ::fts_close(tree); }
};

// Returns false if the list has to end.
bool descend(std::string path, const std::function<bool(ListedFile)>& take) {
  const auto fail = [&take](const std::string& failed, int error) {
    return take({.path = failed, .failure = system_error(error)});
  };
  char* const roots[] = {path.data(), nullptr};
  const std::unique_ptr<FTS, CloseTree> tree(::fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name));
  if (!tree) return fail(path, errno);
  while (const FTSENT* entry = ::fts_read(tree.get())) {
    bool goes_on = true;
    switch (entry->fts_info) {
      case FTS_F: goes_on = take({.path = entry->fts_path, .was_found = true}); break;
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS: goes_on = fail(entry->fts_path, entry->fts_errno); break;
      default: break;
    }
    if (!goes_on) return false;
  }
  return errno == 0 || fail(path, errno);
}

// The same for a directory of another storage than local files.
bool descend_stored(const Location& directory, std::size_t depth, const std::function<bool(ListedFile)>& take) {
  constexpr std::size_t kDeepest = 256;
  std::map<std::string, SourceKind> entries;  // sorted by name
  auto listed = directory.storage().list({}, directory, {}, [&entries](const ListedEntry& entry) -> Result<void> {
    entries.emplace(entry.name, entry.kind);
    return {};
  });
  if (depth == kDeepest) listed = system_error(ELOOP);
  if (!listed) return take({.path = directory.text(), .failure = std::move(listed).error()});
  return std::ranges::all_of(entries, [&](const auto& entry) {
    const Location below = directory.child(entry.first);
    if (entry.second == SourceKind::kDirectory) return descend_stored(below, depth + 1, take);
    return entry.second != SourceKind::kFile || take({.path = below.text(), .was_found = true});
  });
}

// Returns whether a pattern matches a path, or the end of it that begins after a slash.
bool matches_name(const std::string& pattern, const std::string& path) {
  for (std::size_t at = 0; at < path.size();) {
    if (::fnmatch(pattern.c_str(), path.c_str() + at, 0) == 0) return true;
    const std::size_t slash = path.find('/', at);
    at = slash == std::string::npos ? path.size() : slash + 1;
  }
  return false;
}

// Returns whether a pattern matches the name of a directory in a path.
bool matches_parent(const std::string& pattern, const std::string& path) {
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = path.find('/', at);
    if (slash == std::string::npos) return false;
    if (::fnmatch(pattern.c_str(), path.substr(at, slash - at).c_str(), 0) == 0) return true;
    at = slash + 1;
  }
  return false;
}

}  // namespace

bool FileFilter::wants(const std::string& path) const {
  const auto matches = [&path](const std::string& pattern) { return matches_name(pattern, path); };
  const auto matches_directory = [&path](const std::string& pattern) { return matches_parent(pattern, path); };
  if (std::ranges::any_of(excluded_directories, matches_directory)) return false;
  return (included.empty() || std::ranges::any_of(included, matches)) && std::ranges::none_of(excluded, matches);
}

void each_file(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile)>& take) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i % kAskedTogether == 0) ask_together(std::span(paths).subspan(i));
    const std::string& path = paths[i];
    const Location location(path);
    const bool is_one = !descends || !is_directory(location);
    const bool goes_on = is_one                ? take({.path = path})
                         : location.is_local() ? descend(path, take)
                                               : descend_stored(location, 0, take);
    if (!goes_on) return;
  }
}

}  // namespace recordfs
