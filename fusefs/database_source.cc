#include "fusefs/database_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/descriptor.h"
#include "core/base/source.h"
#include "fusefs/mount_sources.h"
#include "fusefs/tree/joined/joined_shards.h"

namespace recordfs {
namespace {

// Returns a path of an open directory that stays valid if a mount covers its own path; without /proc, its own.
std::string path_of(const Descriptor& directory, const std::string& path) {
  std::string lasting = fmt::format("/proc/self/fd/{}", directory.number());
  return ::access((lasting + "/.").c_str(), F_OK) == 0 ? lasting : path;
}

// Returns permissions to read for each permission to search the directory.
Ownership ownership_of_search(const struct stat& st) {
  return container_ownership(st.st_uid, st.st_gid, (st.st_mode & 0111u) << 2, st.st_mtim);
}

// Returns the owner and permissions of what the files of a database contain together.
Ownership ownership_of(const database::Database& database, const Descriptor& directory) {
  std::vector<Ownership> ownerships;
  struct stat st {};
  if (::fstat(directory.number(), &st) == 0) ownerships.push_back(ownership_of_search(st));
  for (const database::File& file : database.files()) {
    if (file.state != database::File::State::kLive) continue;
    if (::fstatat(directory.number(), file.name.c_str(), &st, 0) != 0) continue;
    ownerships.push_back(container_ownership(st.st_uid, st.st_gid, st.st_mode, st.st_mtim));
  }
  return common_ownership(ownerships);
}

database::Options database_options(const Options& options) {
  return {.limits = options.limits,
          .wal_directory = options.wal_directory,
          .table_directories = options.table_directories,
          .follows_changes = true};
}

}  // namespace

Result<DatabaseSource> open_database(const std::string& path, std::shared_ptr<const RootedDir> files,
                                     const std::string& shown, const Options& options, const Services& services) {
  const auto directory = std::make_shared<const Descriptor>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!*directory) return system_error(errno);
  struct stat st {};
  if (::fstat(directory->number(), &st) != 0) return system_error(errno);
  ASSIGN_OR_RETURN(auto opened, database::Database::open({}, path_of(*directory, path), database_options(options)));
  const database::Summary summary = opened->summary();
  services.log(Severity::kDetail, fmt::format("{}: a {} database, {}", shown, summary.engine,
                                              counted(summary.logged_writes, "logged write")));
  if (summary.is_recovered()) {
    services.log(Severity::kWarning,
                 fmt::format("{}: no usable MANIFEST; the state comes from all tables and logs", shown));
  }
  Ownership ownership = ownership_of(*opened, *directory);
  override_ownership(ownership, options);
  const auto report = [&services, shown](const database::Problem& problem) {
    const std::string file = problem.file.empty() ? shown : fmt::format("{}: {}", shown, problem.file);
    const std::string_view may = problem.loses_data ? " (keys may be missing, or their values older ones)" : "";
    services.log(problem.loses_data ? Severity::kWarning : Severity::kDetail,
                 fmt::format("{}: {}{}", file, to_string(problem.error), may));
  };
  // The descriptor stays open as long as the database.
  std::shared_ptr<const database::Database> database(opened.release(),
                                                     [directory](const database::Database* last) { delete last; });
  return DatabaseSource{.name = {},
                        .files = {{}, std::move(files)},
                        .database = std::move(database),
                        .ownership = ownership,
                        .filesystem = filesystem_that_may_hang(directory->number(), st.st_dev),
                        .report = report};
}

}  // namespace recordfs
