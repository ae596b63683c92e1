#include "core/recover/recovered_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "core/base/storage.h"
#include "core/output/read_files.h"
#include "core/output/subdirectories.h"

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

std::optional<struct stat> status_at(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 ? std::optional(st) : std::nullopt;
}

std::string RecoveryOutputs::path_of(const std::string& name) const {
  return (std::filesystem::path(directory) / name).string();
}

bool RecoveryOutputs::is_linked(const std::string& source, const std::string& target) const {
  struct stat made {};
  if (!links || ::lstat(target.c_str(), &made) != 0 || !S_ISREG(made.st_mode)) return false;
  const auto read = status_at(source);
  return read && read->st_dev == made.st_dev && read->st_ino == made.st_ino;
}

std::vector<std::string> RecoveryOutputs::conflicts(const std::vector<RecoveredFile>& files) const {
  ReadFiles read;
  for (const RecoveredFile& file : files) read.add(file.path);
  if (!manifest.empty()) read.add(manifest);
  const auto is_read = [&](const std::string& path) { return read.contains(AT_FDCWD, path); };
  std::vector<std::string> found;
  const auto refuse = [&](const std::string& path, std::string_view why) {
    found.push_back(fmt::format("{}: {}", path, why));
  };
  if (!report.empty() && is_read(report)) refuse(report, kIsRead);
  std::map<std::string, std::string> names;  // of the outputs, with their sources
  for (const auto& [source, name] : files) {
    if (!is_path_below(name)) {
      refuse(source, "has no name for a file in the directory of the output");
      continue;
    }
    const auto [other, is_new] = names.emplace(name, source);
    if (!is_new) {
      refuse(source, fmt::format("has the same name as {}", other->second));
      continue;
    }
    const std::string target = path_of(name);
    if (is_read(target) && !is_linked(source, target)) refuse(target, kIsRead);
    if (is_report(target)) refuse(target, "is the report");
  }
  for (const auto& [name, source] : names) {
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      const auto file = names.find(name.substr(0, slash));
      if (file == names.end()) continue;
      refuse(source, fmt::format("would be in a directory of the same name as {}", file->second));
    }
  }
  return found;
}

}  // namespace recordfs
