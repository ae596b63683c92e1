#include "core/recover/recovered_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "core/base/storage.h"

namespace recordfs {
namespace {

// Returns the path of a file that begins at the root, or a URL, without what follows the path.
std::string full_path_of(const std::string& path) {
  const Location location(path);
  if (!location.is_local()) return std::string(location.path());
  return std::filesystem::path(location.absolute().text()).lexically_normal().string();
}

}  // namespace

std::vector<RecoveredFile> with_names(const std::vector<NamedFile>& set) {
  std::vector<std::string> full;
  full.reserve(set.size());
  for (const NamedFile& file : set) full.push_back(full_path_of(file.path));
  std::string common = full.empty() ? std::string() : full.front();  // with a slash at the end
  for (const std::string& path : full) {
    const auto end = std::mismatch(path.begin(), path.end(), common.begin(), common.end()).second;
    const std::string_view shared(common.data(), static_cast<std::size_t>(end - common.begin()));
    common.resize(shared.rfind('/') + 1);
  }
  std::vector<RecoveredFile> files;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const NamedFile& file = set[i];
    if (file.missing || file.is_surplus) continue;
    const Location location(file.path);
    const bool is_in_named = file.bytes_in_set > 0;
    files.push_back({.path = file.path,
                     .name = is_in_named ? std::string(location.path().substr(file.path.size() - file.bytes_in_set))
                                         : full[i].substr(common.size())});
  }
  return files;
}

}  // namespace recordfs
