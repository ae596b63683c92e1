#include "core/dataset/database_files.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/location.h"

namespace recordfs {
namespace {

// Files of a data set, relative to a directory.
struct FilesOfSet {
  std::string directory;
  std::vector<std::string> names;
};

// Names the files by the directory that all of them are in, or else by the root.
FilesOfSet files_of(const ShardList& list) {
  namespace fs = std::filesystem;
  std::set<fs::path> paths;
  std::set<fs::path> directories;
  for (const Shard& shard : list.shards) {
    if (shard.is_missing) continue;
    const fs::path path = shard.path;
    paths.insert(path);
    directories.insert(path.parent_path());
  }
  FilesOfSet files;
  if (directories.size() == 1)
    files.directory = directories.begin()->empty() ? std::string(".") : directories.begin()->string();
  if (directories.size() > 1) files.directory.assign(1, '/');
  for (const fs::path& path : paths) {
    std::error_code failed;
    const Location location(path.string());
    files.names.push_back(directories.size() == 1 ? path.filename().string()
                          : location.is_local()   ? fs::absolute(path, failed).relative_path().string()
                                                  : location.text());
  }
  return files;
}

}  // namespace

DatabaseFiles open_database(const RequestContext& context, const ShardList& list, const database::Options& options) {
  auto files = files_of(list);
  auto database = database::Database::open_files(context, files.directory, files.names, options);
  return {std::move(files.directory), std::move(database)};
}

}  // namespace recordfs
