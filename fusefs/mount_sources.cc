#include "fusefs/mount_sources.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/request_context.h"
#include "core/base/source.h"
#include "core/dataset/pipe_input.h"
#include "core/dataset/source_spec.h"
#include "core/formats/registry.h"
#include "core/store/open_container.h"
#include "fusefs/data_set_source.h"
#include "fusefs/database_source.h"
#include "fusefs/source_access.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/remote_tree.h"
#include "fusefs/tree/mirror/rooted_dir.h"

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

// Returns the name in a mount of several sources: the directory's own, not that of a symbolic link.
std::string directory_name(const std::string& path) {
  const Location location(path);
  if (!location.is_local()) {
    std::string_view whole = location.path();
    whole = whole.substr(0, whole.find_last_not_of('/') + 1);
    const std::string_view last = whole.substr(whole.rfind('/') + 1);
    return last.empty() || last.ends_with(':') ? "root" : std::string(last);
  }
  std::error_code failure;
  const auto real = std::filesystem::canonical(path, failure);
  const std::string name = failure ? std::string() : real.filename().string();
  return name.empty() ? "root" : name;
}

void log_opened(const std::string& shown, const RecordStore& store, const StoreResources& services) {
  services.log(Severity::kDetail,
               fmt::format("{}: {}, {}", shown, store.traits().format, counted(store.source().size(), "byte")));
}

Result<MountSource> open_container_file(const std::string& path, const std::string& shown, const Options& options,
                                        StoreResources& services, OpenedSources& all) {
  MountedContainer container;
  container.is_followed = options.follow;
  if (options.follow) {
    ASSIGN_OR_RETURN(auto file, GrowingFile::open(path, options.limits, services, shown));
    container.name = file->name();
    container.store = file->store();
    container.ownership = ownership_of(file->file());
    all.followed.push_back(std::move(file));
  } else {
    ASSIGN_OR_RETURN(auto opened, open_file({}, path, options.limits, services, shown));
    container.name = std::move(opened.name);
    container.store = std::move(opened.store);
    container.ownership = ownership_of(*opened.source);
  }
  log_opened(shown, *container.store, services);
  keep_only_readers(container.ownership, path, options);
  override_ownership(container.ownership, options);
  return MountSource(std::move(container));
}

Result<std::shared_ptr<const SourceTree>> open_directory(const std::string& path, const std::string& shown,
                                                         const Options& options, const StoreResources& services) {
  const Location location(path);
  if (location.is_local()) {
    ASSIGN_OR_RETURN(auto opened, RootedDir::open(path));
    return std::shared_ptr<const SourceTree>(std::move(opened));
  }
  const auto warn = [&services, shown, redact = options.redact](const std::string& below, const std::string& text) {
    const bool has_slash = redact || below.empty() || shown.ends_with('/');
    services.log(Severity::kWarning,
                 fmt::format("{}{}{}: {}", shown, has_slash ? "" : "/", redact ? std::string() : below, text));
  };
  ASSIGN_OR_RETURN(
      auto opened,
      RemoteTree::open(location, {.probe = is_container, .has_container_name = has_container_name, .warn = warn}));
  return std::shared_ptr<const SourceTree>(std::move(opened));
}

Result<MountSource> open_source(std::size_t number, const Options& options, StoreResources& services,
                                OpenedSources& all) {
  const std::string& path = options.sources[number];
  const std::string shown = shown_source(options, number);
  const auto kind = SourceSpec{.words = {path}}.kind();
  if (kind == SourceSpec::Kind::kDatabase || kind == SourceSpec::Kind::kDirectory) {
    const bool is_alone = options.sources.size() == 1 && !options.nest;
    ASSIGN_OR_RETURN(auto directory, open_directory(path, shown, options, services));
    if (is_alone && kind == SourceSpec::Kind::kDatabase) {
      auto opened = open_database(path, directory, shown, options, services);
      if (opened) return MountSource(std::move(*opened));
      services.log(Severity::kWarning, fmt::format("{}: the database cannot be opened, so only its files are shown: {}",
                                                   shown, opened.error().detail));
    }
    services.log(Severity::kDetail, fmt::format("{}: a directory", shown));
    if (Location(path).is_local() && !may_have_containers(path)) {
      services.log(Severity::kWarning, fmt::format("{}: no record container in this directory", shown));
    }
    return MountSource(MirroredDirectory{directory_name(path), std::move(directory)});
  }
  return open_container_file(path, shown, options, services, all);
}

// Returns the permissions that no file below the mirrored directories exceeds, because of the directories above them.
// They do not restrict the owners of files.
Ownership above_mirrored_directories(const Options& options) {
  Ownership all{.file_mode = 0555, .directory_mode = 0755};
  for (const std::string& source : options.sources) {
    const auto status = status_of({}, source);
    if (!status || status->kind != SourceKind::kDirectory || !status->owner) continue;
    Ownership one{status->owner->uid, status->owner->gid, 0444, directory_mode_for(0444), {}};
    keep_only_readers(one, source, options);
    all.file_mode &= one.directory_mode | 0500u;
    all.directory_mode &= one.directory_mode | 0700u;
  }
  return all;
}

}  // namespace

void override_ownership(Ownership& ownership, const Options& options) {
  if (options.allow_root) {
    // libfuse rejects other users, but the kernel's caches do not. The kernel always checks permissions, except for
    // root.
    ownership.uid = ::geteuid();
    ownership.file_mode = 0400;
    ownership.directory_mode = directory_mode_for(0400);
  }
  if (options.uid) ownership.uid = *options.uid;
  if (options.gid) ownership.gid = *options.gid;
  if (!options.umask) return;
  const mode_t others = options.allow_root ? 0077 : 0;
  ownership.file_mode = 0444 & ~(*options.umask | others);
  ownership.directory_mode = directory_mode_for(0444) & ~(*options.umask | others);
}

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

std::string shown_source(const Options& options, std::size_t number) {
  return options.redact ? fmt::format("source {}", number + 1) : options.sources[number];
}

Result<OpenedSources> open_sources(const Options& options, StoreResources& services,
                                   std::optional<ShardList> manifest) {
  OpenedSources all;
  for (std::size_t i = 0; i < options.sources.size() && !options.manifest; ++i) {
    if (!is_pipe(options.sources[i])) continue;
    return Error{
        .code = Code::kIo,
        .detail = fmt::format("{}: a mount reads at any position, which a pipe does not permit (try: save it in "
                              "a file)",
                              shown_source(options, i))};
  }
  if (options.join) {
    ASSIGN_OR_RETURN(auto joined, join_sources(options, services, std::move(manifest)));
    all.sources.emplace_back(std::move(joined.source));
    all.shards = std::move(joined.opener);
    all.new_shards = std::move(joined.new_files);
    all.places = std::move(joined.places);
    return all;
  }
  all.places = options.sources;
  for (std::size_t i = 0; i < options.sources.size(); ++i) {
    auto opened = open_source(i, options, services, all);
    if (!opened) {
      return Error{.code = Code::kIo, .detail = open_failure(shown_source(options, i), opened.error())};
    }
    all.sources.push_back(std::move(*opened));
  }
  return all;
}

MirrorSettings mirror_settings(const Options& options, StoreResources& services) {
  const auto count = std::make_shared<std::atomic<std::uint64_t>>(0);
  const auto open = [&options, &services, count](
                        const RequestContext& context, std::shared_ptr<const Source> source,
                        const std::string& path) -> Result<std::shared_ptr<const RecordStore>> {
    const std::string shown = options.redact ? fmt::format("mirrored file {}", count->fetch_add(1) + 1) : path;
    auto opened = open_file(context, std::move(source), options.limits, services, shown);
    if (opened) {
      log_opened(shown, *opened->store, services);
      return std::move(opened->store);
    }
    if (!context.was_refused()) services.log(Severity::kWarning, open_failure(shown, opened.error()));
    return std::move(opened).error();
  };
  const Ownership most = above_mirrored_directories(options);
  return {.probe = is_container, .open = open, .adjust = [&options, most](Ownership& ownership) {
            ownership.file_mode &= most.file_mode;
            ownership.directory_mode &= most.directory_mode;
            override_ownership(ownership, options);
          }};
}

// A mirror may have many containers. With 44 bits, 32,768 of the largest fit at a time.
unsigned address_bits(const Options& options) {
  constexpr unsigned kInMirror = 44;
  const unsigned bits = InodeTable::value_bits(options.sources.size());
  return std::ranges::any_of(options.sources, [](const auto& source) { return is_directory(source); })
             ? std::min(bits, kInMirror)
             : bits;
}

}  // namespace recordfs
