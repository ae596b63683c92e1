#include "core/base/own_files.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <optional>

namespace recordfs {
namespace {

constexpr const char* kProgram = "/proc/self/exe";

std::string path_of_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(kProgram, path.data(), path.size());
  return size <= 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(size));
}

// Returns the library that this code is in; empty if it is the program itself, for which the linker has no name.
std::string own_library() {
  static const char here = 0;
  Dl_info info{};
  void* map = nullptr;
  const bool is_known = ::dladdr1(&here, &info, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr;
  return is_known ? static_cast<const link_map*>(map)->l_name : "";
}

std::optional<uid_t> owner_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

}  // namespace

std::string find_own_file(std::string_view name) {
  const std::string library = own_library();
  const std::string own = library.empty() ? path_of_program() : library;
  if (!own.starts_with('/')) return {};                               // a library that was loaded by a relative path
  const auto owner = owner_of(library.empty() ? kProgram : library);  // also of a program that was deleted meanwhile
  for (const char* const folder : {"", RECORDFS_PROGRAM_MODULES, RECORDFS_PROGRAM_HELPERS, RECORDFS_LIBRARY_FILES}) {
    std::string path = own.substr(0, own.rfind('/') + 1) + folder;
    path += name;
    const auto found = owner_of(path);
    if (found && (found == owner || found == 0)) return path;
  }
  return {};
}

}  // namespace recordfs
