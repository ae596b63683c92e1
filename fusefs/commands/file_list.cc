#include "fusefs/commands/file_list.h"

#include <fts.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace recordfs {
namespace {

Error system_error(int number) { return {.code = Code::kIo, .detail = std::strerror(number), .os_error = number}; }

int by_name(const FTSENT** one, const FTSENT** other) { return std::strcmp((*one)->fts_name, (*other)->fts_name); }

bool is_directory(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

struct CloseTree {
  void operator()(FTS* tree) const { ::fts_close(tree); }
};

// Returns false if the list has to end.
bool descend(std::string path, const std::function<bool(ListedFile)>& take,
             const std::function<bool(const std::string&, const Error&)>& fail) {
  char* const roots[] = {path.data(), nullptr};
  const std::unique_ptr<FTS, CloseTree> tree(::fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name));
  if (!tree) return fail(path, system_error(errno));
  while (const FTSENT* entry = ::fts_read(tree.get())) {
    bool goes_on = true;
    switch (entry->fts_info) {
      case FTS_F: goes_on = take({entry->fts_path, true}); break;
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS: goes_on = fail(entry->fts_path, system_error(entry->fts_errno)); break;
      default: break;
    }
    if (!goes_on) return false;
  }
  return errno == 0 || fail(path, system_error(errno));
}

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

}  // namespace

void list_files(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile)>& take,
                const std::function<bool(const std::string&, const Error&)>& fail) {
  for (const std::string& path : paths) {
    const bool goes_on = descends && is_directory(path) ? descend(path, take, fail) : take({path});
    if (!goes_on) return;
  }
}

Result<std::vector<std::string>> read_names(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(path == "-" ? stdin : std::fopen(path.c_str(), "re"));
  if (!file) return system_error(errno);
  std::vector<std::string> names;
  std::string name;
  for (int byte = std::getc(file.get()); byte != EOF; byte = std::getc(file.get())) {
    if (byte == 0) {
      names.push_back(std::exchange(name, {}));
    } else {
      name.push_back(static_cast<char>(byte));
    }
  }
  if (std::ferror(file.get()) != 0) return system_error(errno);
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

}  // namespace recordfs
