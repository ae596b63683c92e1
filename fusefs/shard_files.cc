#include "fusefs/shard_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/thrown.h"
#include "core/dataset/real_paths.h"
#include "core/dataset/saved_counts.h"
#include "core/store/at_once.h"
#include "core/store/open_container.h"
#include "fusefs/messages.h"
#include "fusefs/mount_sources.h"
#include "fusefs/source_access.h"

namespace recordfs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPlaces = 32;  // the process opens all of them together

Error damage(std::string why) { return {.code = Code::kDamage, .detail = std::move(why)}; }

std::string directory_of(const std::string& path) { return fs::path(path).parent_path().string(); }

// Returns Source::filesystem() of files on a device.
class Filesystems {
 public:
  std::uint64_t of(const Location& directory, std::uint64_t device) {
    const auto known = by_device_.find(device);
    if (known != by_device_.end()) return known->second;
    return by_device_.emplace(device, directory.storage().filesystem(directory, device)).first->second;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> by_device_;
};

// Returns the path of the file that a local path leads to, through symbolic links.
std::string target_of(const std::string& path) {
  struct stat st {};
  std::error_code failed;
  const bool is_link = ::lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode);
  return is_link ? fs::canonical(path, failed).string() : path;
}

// Returns the state of each shard. Servers are asked about several at a time, because each answer takes a round trip.
std::vector<Result<SourceStatus>> statuses_of(const std::vector<Shard>& shards) {
  constexpr unsigned kAtOnce = 16;
  std::vector<Result<SourceStatus>> statuses(shards.size(), Result<SourceStatus>(SourceStatus()));
  const bool is_remote =
      std::ranges::any_of(shards, [](const Shard& shard) { return !Location(shard.path).is_local(); });
  call_at_once(is_remote ? kAtOnce : 1, shards.size(), [&](std::size_t number) {
    const auto examine_one = [&] { statuses[number] = status_of({}, shards[number].path); };
    if (error_thrown_by(examine_one) != 0) statuses[number] = Error{.code = Code::kOutOfMemory, .detail = {}};
  });
  return statuses;
}

}  // namespace

ExaminedShards examine(std::vector<Shard>& shards, const Options& options) {
  ExaminedShards examined;
  RealPaths real_paths;
  Filesystems filesystems;
  for (Shard& shard : shards) shard.path = real_paths.of(shard.path);
  const std::vector<Result<SourceStatus>> statuses = statuses_of(shards);
  for (std::size_t number = 0; number < shards.size(); ++number) {
    Shard& shard = shards[number];
    ShardFile file{.path = shard.path};
    Ownership ownership{.uid = ::geteuid(), .gid = ::getegid(), .file_mode = 0, .directory_mode = 0};
    const std::string target = target_of(shard.path);
    if (const auto& status = statuses[number]) {
      shard.is_missing = false;
      file.id = status->id;
      file.filesystem = filesystems.of(directory_of(target), status->device);
      ownership = ownership_of(*status);
      keep_only_readers(ownership, target, options);
      override_ownership(ownership, options);
      examined.stored += status->size;
      if (examined.paths.size() <= kMostPlaces) examined.paths.insert(target);
      examined.directories.insert(directory_of(target));
    } else {
      // A file that cannot be examined is reported when it is opened.
      shard.is_missing = shard.is_missing || is_not_there(status.error());
    }
    examined.files.push_back(std::move(file));
    examined.ownerships.push_back(ownership);
  }
  return examined;
}

std::vector<std::string> ExaminedShards::places(const std::vector<std::string>& others) const {
  std::set<std::string> all = paths;
  all.insert(others.begin(), others.end());
  if (all.size() <= kMostPlaces) return {all.begin(), all.end()};
  all = directories;
  all.insert(others.begin(), others.end());
  while (all.size() > kMostPlaces) {
    std::set<std::string> above;
    for (const std::string& directory : all) above.insert(directory_of(directory));
    all = std::move(above);
  }
  return {all.begin(), all.end()};
}

void ShardOpener::add(std::vector<ShardFile> files) {
  const std::lock_guard lock(mutex_);
  files_.insert(files_.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
}

Result<std::shared_ptr<const RecordStore>> ShardOpener::open(const RequestContext& context, std::size_t shard) {
  if (auto failure = failure_of(shard)) return *failure;
  TRY(context.permit_wait_for(file(shard).filesystem));
  auto opened = open_now(context, shard);
  if (opened || context.was_refused()) return opened;
  const Error& why = opened.error();
  const std::string line = open_failure(shown(shard), why);
  if (is_permanent(why.code) || why.code == Code::kNoContainer) {
    const std::lock_guard lock(mutex_);
    if (!failures_.emplace(shard, why).second) return opened;
  }
  services_.log(Severity::kWarning, line);
  return opened;
}

std::optional<ShardCounts> ShardOpener::known_counts(const RequestContext& context, std::size_t shard,
                                                     ScanDetail detail) const {
  const ShardFile& examined = file(shard);
  if (failure_of(shard) || !context.permit_wait_for(examined.filesystem)) return std::nullopt;
  return saved_counts(context, services_, examined.path, detail,
                      [&](const SourceId& now) { return now == examined.id; });
}

std::string ShardOpener::shown(std::size_t shard) const {
  return options_.redact ? fmt::format("shard {}", shard) : file(shard).path;
}

const ShardFile& ShardOpener::file(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  return files_[shard];
}

std::optional<Error> ShardOpener::failure_of(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(shard);
  if (found == failures_.end()) return std::nullopt;
  return found->second;
}

Result<std::shared_ptr<const RecordStore>> ShardOpener::open_now(const RequestContext& context, std::size_t shard) {
  ASSIGN_OR_RETURN(auto source, open_same(context, shard));
  ASSIGN_OR_RETURN(auto opened, open_file(context, std::move(source), options_.limits, services_, shown(shard)));
  services_.log(Severity::kDetail, fmt::format("{}: {}, {}", shown(shard), opened.store->traits().format,
                                               counted(opened.store->source().size(), "byte")));
  return std::move(opened.store);
}

// Opens the file if it is still what it was.
Result<std::shared_ptr<const Source>> ShardOpener::open_same(const RequestContext& context, std::size_t shard) const {
  constexpr std::array kPassing = {EIO,       EMFILE,    ENFILE,       ENOMEM,     EINTR,        ESTALE,
                                   ETIMEDOUT, EREMOTEIO, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETUNREACH};
  const ShardFile& examined = file(shard);
  auto opened = open_source(context, examined.path);
  if (!opened) {
    const Error& why = opened.error();
    const bool is_lasting = why.code == Code::kIo && std::ranges::find(kPassing, why.os_error) == kPassing.end();
    return is_lasting ? damage(why.detail) : why;
  }
  const auto id = (*opened)->id();
  if (!id) return opened;
  const bool was_examined = !examined.id.source.empty();
  const std::lock_guard lock(mutex_);
  const SourceId& before = was_examined ? examined.id : first_ids_.try_emplace(shard, *id).first->second;
  if (!(*id == before)) return damage("changed after it was mounted");
  return opened;
}

}  // namespace recordfs
