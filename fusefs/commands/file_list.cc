#include "fusefs/commands/file_list.h"

#include <fts.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include "fusefs/messages.h"

namespace recordfs {
namespace {

int by_name(const FTSENT** one, const FTSENT** other) { return std::strcmp((*one)->fts_name, (*other)->fts_name); }

bool is_directory(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

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

}  // namespace

void list_files(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile)>& take) {
  for (const std::string& path : paths) {
    const bool goes_on = descends && is_directory(path) ? descend(path, take) : take({.path = path});
    if (!goes_on) return;
  }
}

Result<std::vector<std::string>> read_names(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  if (!file) return system_error(errno);
  std::istream& input = path == "-" ? std::cin : file;
  std::vector<std::string> names;
  for (std::string name; std::getline(input, name, '\0');) names.push_back(std::move(name));
  if (input.bad() || std::ferror(stdin) != 0) return system_error(errno);
  return names;
}

}  // namespace recordfs
