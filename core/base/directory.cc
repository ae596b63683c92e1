#include "core/base/directory.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

namespace recordfs {
namespace {

struct Close {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Result<void> each_regular_file(
    const std::string& directory,
    const std::function<Result<void>(const std::string& name, const struct stat& status)>& take) {
  const std::unique_ptr<DIR, Close> opened(::opendir(directory.c_str()));
  if (!opened) return system_error(errno);
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(opened.get());
    if (entry == nullptr && errno != 0) return system_error(errno);
    if (entry == nullptr) return {};
    struct stat status {};
    if (::fstatat(::dirfd(opened.get()), entry->d_name, &status, 0) != 0 || !S_ISREG(status.st_mode)) continue;
    TRY(take(entry->d_name, status));
  }
}

}  // namespace recordfs
