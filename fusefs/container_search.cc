#include "fusefs/container_search.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "core/base/source.h"
#include "fusefs/open_container.h"

namespace recordfs {
namespace {

namespace fs = std::filesystem;

std::optional<dev_t> device_of(const fs::path& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return std::nullopt;
  return st.st_dev;
}

// Returns true also if the file cannot be read.
bool may_be_container(const fs::path& path) {
  const auto file = FileSource::open(path);
  if (!file) return true;
  return is_container({}, **file, path.filename().string()).value_or(true);
}

// Returns whether an entry is a container. True if it cannot be read.
bool may_count(const fs::directory_entry& entry, dev_t device) {
  std::error_code failure;
  const fs::file_type type = entry.symlink_status(failure).type();
  if (failure) return true;
  if (type == fs::file_type::directory) return device_of(entry.path()) != device;
  return type == fs::file_type::regular && may_be_container(entry.path());
}

}  // namespace

bool may_have_containers(const std::string& directory, const SearchBounds& bounds) {
  const auto deadline = std::chrono::steady_clock::now() + bounds.time;
  const fs::path root = directory + "/.";  // follows `directory` if it is a symbolic link
  const auto device = device_of(root);
  std::error_code failure;
  fs::recursive_directory_iterator entries(root, failure);
  if (!device || failure) return true;
  std::size_t seen = 0;
  while (entries != fs::recursive_directory_iterator()) {
    if (seen++ == bounds.entries || std::chrono::steady_clock::now() > deadline) return true;
    if (may_count(*entries, *device)) return true;
    entries.increment(failure);
    if (failure) return true;
  }
  return false;
}

}  // namespace recordfs
