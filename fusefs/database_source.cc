#include "fusefs/database_source.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/descriptor.h"
#include "core/base/helper_process.h"
#include "core/base/storage.h"
#include "core/database/directory.h"
#include "core/database/options_file.h"
#include "core/database/wal_directory.h"
#include "fusefs/confinement/confinement.h"
#include "fusefs/mount_sources.h"
#include "fusefs/source_access.h"
#include "fusefs/tree/data_set/data_set_shards.h"

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

// Returns whether no user may read `base` that may not read `file`.
bool is_as_open(const struct stat& file, const Ownership& base) {
  const Ownership both[] = {base, container_ownership(file.st_uid, file.st_gid, file.st_mode, file.st_mtim)};
  const Ownership common = common_ownership(both);
  return common.uid == base.uid && (base.file_mode & 0444u & ~common.file_mode) == 0;
}

// What a mount shows of a database; empty while it is being opened.
using ShownAs = std::shared_ptr<std::optional<Ownership>>;

// With -o allow_other, a file that appears later must not be less open than those that the mount's permissions come
// from.
database::Options database_options(const Options& options, const ShownAs& shown_as) {
  std::function<bool(const struct stat&)> admits;
  if (options.allow_other && !options.umask) {
    admits = [shown_as](const struct stat& file) { return !*shown_as || is_as_open(file, **shown_as); };
  }
  return {.limits = options.limits,
          .wal_directory = options.wal_directory,
          .table_directories = options.table_directories,
          .follows_changes = true,
          .admits = std::move(admits)};
}

void log_opened(const database::Database& opened, const std::string& shown, const StoreResources& services) {
  const database::Summary summary = opened.summary();
  services.log(Severity::kDetail, fmt::format("{}: a {} database, {}", shown, summary.engine,
                                              counted(summary.logged_writes, "logged write")));
  if (summary.is_recovered()) {
    services.log(Severity::kWarning,
                 fmt::format("{}: no usable MANIFEST; the state comes from all tables and logs", shown));
  }
}

// Returns DatabaseSource::report. `services` must outlive it.
std::function<void(const database::Problem&)> reporter(const std::string& shown, const StoreResources& services) {
  return [&services, shown](const database::Problem& problem) {
    const std::string file = problem.file.empty() ? shown : fmt::format("{}: {}", shown, problem.file);
    const std::string_view may = problem.loses_data ? " (keys may be missing, or their values older ones)" : "";
    services.log(problem.loses_data ? Severity::kWarning : Severity::kDetail,
                 fmt::format("{}: {}{}", file, to_string(problem.error), may));
  };
}

// Opens a database of another storage than local files, as it is now.
Result<DatabaseSource> open_stored_database(const Location& directory, std::shared_ptr<const SourceTree> files,
                                            const std::string& shown, const Options& options,
                                            const StoreResources& services) {
  database::Options how = database_options(options, std::make_shared<std::optional<Ownership>>());
  how.follows_changes = false;
  how.admits = {};
  ASSIGN_OR_RETURN(auto opened, database::Database::open({}, directory.text(), how));
  log_opened(*opened, shown, services);
  Ownership ownership = ownership_of(SourceStatus{});
  override_ownership(ownership, options);
  return DatabaseSource{.name = {},
                        .files = {{}, std::move(files)},
                        .database = std::move(opened),
                        .ownership = ownership,
                        .filesystem = directory.storage().filesystem(directory, 0),
                        .report = reporter(shown, services)};
}

}  // namespace

Result<DatabaseSource> open_database(const std::string& path, std::shared_ptr<const SourceTree> files,
                                     const std::string& shown, const Options& options, const StoreResources& services) {
  const Location location(path);
  if (!location.is_local()) return open_stored_database(location, std::move(files), shown, options, services);
  const auto directory = std::make_shared<const Descriptor>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!*directory) return system_error(errno);
  struct stat st {};
  if (::fstat(directory->number(), &st) != 0) return system_error(errno);
  const auto shown_as = std::make_shared<std::optional<Ownership>>();
  ASSIGN_OR_RETURN(auto opened,
                   database::Database::open({}, path_of(*directory, path), database_options(options, shown_as)));
  log_opened(*opened, shown, services);
  Ownership ownership = ownership_of(*opened, *directory);
  *shown_as = ownership;  // no other thread uses the database yet
  keep_only_readers(ownership, path, options);
  override_ownership(ownership, options);
  // The descriptor stays open as long as the database.
  std::shared_ptr<const database::Database> database(opened.release(),
                                                     [directory](const database::Database* last) { delete last; });
  return DatabaseSource{.name = {},
                        .files = {{}, std::move(files)},
                        .database = std::move(database),
                        .ownership = ownership,
                        .filesystem = filesystem_that_may_hang(directory->number(), st.st_dev),
                        .report = reporter(shown, services)};
}

namespace {

constexpr const char* kReader = "recordfs-option";  // name of the process that reads OPTIONS

// Returns wal_dir as the newest OPTIONS file states it; empty if there is none.
std::string stated_wal_directory(const std::string& path) {
  const auto listed = database::list_directory(path);
  if (!listed) return {};
  const auto number = [](const database::DirectoryEntry& entry) { return database::options_file_number(entry.name); };
  const auto newest = std::ranges::max_element(*listed, {}, number);
  if (newest == listed->end() || !number(*newest)) return {};
  const auto source = open_source({}, Location(path).child(newest->name));
  const auto read = source ? database::read_options({}, **source) : source.error();
  return read ? read->wal_directory : std::string();
}

}  // namespace

std::string wal_directory_of(const std::string& path) {
  if (!Location(path).is_local() || !status_of({}, path + "/CURRENT")) return {};
  std::string stated(PATH_MAX, '\0');
  HelperProcess reader(kReader, {}, [&path](int line) {
    AllowedPaths allowed{.readable = {}, .listed = {}, .saved = {}, .devices = {}, .reads_all_owners = true};
    allowed.readable.push_back(found_at(path));
    static_cast<void>(confine(allowed));
    const std::string found = stated_wal_directory(path).substr(0, PATH_MAX);
    static_cast<void>(::send(line, found.data(), found.size(), MSG_NOSIGNAL));
  });
  if (!reader.is_there()) return {};
  ssize_t got = -1;
  do {
    got = ::recv(reader.line().number(), stated.data(), stated.size(), 0);
  } while (got < 0 && errno == EINTR);
  stated.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const std::string found = stated.empty() ? stated : database::find_wal_directory(path, stated).name;
  return found.empty() || found.starts_with('/') ? found : path + "/" + found;
}

}  // namespace recordfs
