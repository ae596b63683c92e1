#include "core/output/subdirectories.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

bool is_path_below(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == "..") return false;
    begin = end + 1;
  }
  return true;
}

Error no_directory(std::string_view directory) {
  return {.code = Code::kIo, .detail = fmt::format("there is no directory {}", directory), .os_error = ENOENT};
}

Result<Descriptor> open_directory_of(int top, std::string_view path, std::vector<std::string>* created) {
  if (!is_path_below(path)) return system_error(EINVAL);
  Descriptor directory(::openat(top, ".", kDirectory));
  std::size_t begin = 0;
  for (std::size_t end = path.find('/'); directory && end != std::string_view::npos; end = path.find('/', begin)) {
    const std::string name(path.substr(begin, end - begin));
    Descriptor next(::openat(directory.number(), name.c_str(), kDirectory));
    if (!next && errno == ENOENT && created != nullptr) {
      const bool is_made = ::mkdirat(directory.number(), name.c_str(), 0777) == 0;
      if (is_made) created->emplace_back(path.substr(0, end));
      if (is_made || errno == EEXIST) next = Descriptor(::openat(directory.number(), name.c_str(), kDirectory));
    }
    directory = std::move(next);
    begin = end + 1;
  }
  if (!directory) return system_error(errno);
  return directory;
}

void remove_empty_directories(int top, const std::vector<std::string>& created) {
  for (std::size_t i = created.size(); i > 0; --i) {
    const std::string& path = created[i - 1];
    const auto above = open_directory_of(top, path, nullptr);
    if (above) ::unlinkat(above->number(), path.substr(path.rfind('/') + 1).c_str(), AT_REMOVEDIR);
  }
}

}  // namespace recordfs
