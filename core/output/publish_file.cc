#include "core/output/publish_file.h"

#include <unistd.h>

#include <cerrno>

namespace recordfs {

bool publish_file(int directory, const std::string& unfinished, const std::string& name, bool replaces) {
  if (replaces) return ::renameat(directory, unfinished.c_str(), directory, name.c_str()) == 0;
  if (::renameat2(directory, unfinished.c_str(), directory, name.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // For filesystems without RENAME_NOREPLACE: a link never replaces a file either.
  if (::linkat(directory, unfinished.c_str(), directory, name.c_str(), 0) != 0) return false;
  ::unlinkat(directory, unfinished.c_str(), 0);
  return true;
}

}  // namespace recordfs
