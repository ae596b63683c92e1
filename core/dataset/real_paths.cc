#include "core/dataset/real_paths.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "core/base/location.h"

namespace recordfs {
namespace {

namespace fs = std::filesystem;

std::string resolved(const std::string& directory) {
  std::error_code failed;
  fs::path real = fs::canonical(directory, failed);
  if (failed) real = fs::absolute(directory, failed);
  return (real / "").string();
}

}  // namespace

std::string RealPaths::of(const std::string& path) {
  if (!Location(path).is_local()) return path;
  const std::size_t name = path.rfind('/') + 1;  // 0 without a slash
  const std::string directory = name == 0 ? "." : path.substr(0, name);
  auto known = directories_.find(directory);
  if (known == directories_.end()) known = directories_.emplace(directory, resolved(directory)).first;
  return known->second + path.substr(name);
}

}  // namespace recordfs
