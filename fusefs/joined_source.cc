#include "fusefs/joined_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/descriptor.h"
#include "core/base/source.h"
#include "core/dataset/shard_list.h"
#include "fusefs/messages.h"
#include "fusefs/mount_sources.h"
#include "fusefs/open_container.h"

namespace recordfs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTried = 16;
constexpr std::size_t kMostNamed = 100;  // missing or surplus shards in the log
constexpr std::size_t kMostPlaces = 32;  // the process opens all of them together

// A shard as it was found.
struct ShardFile {
  FileIdentity identity;
  std::uint64_t filesystem = 0;  // as Source::filesystem()
};

Result<bool> is_container_file(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, FileSource::open(path));
  return is_container({}, *file, file->name());
}

Error damage(std::string why) { return {.code = Code::kDamage, .detail = std::move(why)}; }

// Examines the files of a data set.
class Examiner {
 public:
  explicit Examiner(const Options& options) : options_(options) {}

  // Makes the path absolute. Its last part stays as it is, because it is the shard's name.
  void examine(Shard& shard) {
    const std::size_t slash = shard.path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : shard.path.substr(0, slash + 1);
    const std::string name = shard.path.substr(slash + 1);
    shard.path = (real_directory(directory) / name).string();
    fs::path real = shard.path;
    struct stat st {};
    ShardFile file;
    Ownership ownership{.uid = ::geteuid(), .gid = ::getegid(), .file_mode = 0, .directory_mode = 0};
    if (::lstat(shard.path.c_str(), &st) == 0 && S_ISLNK(st.st_mode)) {
      std::error_code failed;
      real = fs::canonical(shard.path, failed);
    }
    if (::stat(shard.path.c_str(), &st) == 0) {
      shard.is_missing = false;
      file = {.identity = FileIdentity::of(st), .filesystem = filesystem_of(real.parent_path(), st.st_dev)};
      ownership = container_ownership(st.st_uid, st.st_gid, st.st_mode, st.st_mtim);
      override_ownership(ownership, options_);
      stored_ += file.identity.size;
      add_place(real);
    } else {
      // A file that cannot be examined is reported when it is opened.
      shard.is_missing = shard.is_missing || errno == ENOENT || errno == ENOTDIR;
    }
    files_.push_back(file);
    ownerships_.push_back(ownership);
  }

  std::vector<ShardFile> files() { return std::move(files_); }
  std::vector<Ownership> ownerships() { return std::move(ownerships_); }
  std::uint64_t stored() const { return stored_; }

  std::vector<std::string> places() {
    if (places_.size() <= kMostPlaces) return {places_.begin(), places_.end()};
    while (directories_.size() > kMostPlaces) {
      std::set<std::string> above;
      for (const std::string& directory : directories_) above.insert(fs::path(directory).parent_path().string());
      directories_ = std::move(above);
    }
    return {directories_.begin(), directories_.end()};
  }

 private:
  const fs::path& real_directory(const std::string& directory) {
    const auto known = real_directories_.find(directory);
    if (known != real_directories_.end()) return known->second;
    std::error_code failed;
    fs::path real = fs::canonical(directory, failed);
    if (failed) real = fs::absolute(directory, failed);
    return real_directories_.emplace(directory, std::move(real)).first->second;
  }

  std::uint64_t filesystem_of(const fs::path& directory, std::uint64_t device) {
    const auto known = filesystems_.find(device);
    if (known != filesystems_.end()) return known->second;
    const Descriptor opened(::open(directory.c_str(), O_PATH | O_CLOEXEC));
    return filesystems_.emplace(device, filesystem_that_may_hang(opened.number(), device)).first->second;
  }

  void add_place(const fs::path& real) {
    if (places_.size() <= kMostPlaces) places_.insert(real.string());
    directories_.insert(real.parent_path().string());
  }

  const Options& options_;
  std::vector<ShardFile> files_;
  std::vector<Ownership> ownerships_;
  std::uint64_t stored_ = 0;
  std::map<std::string, fs::path> real_directories_;
  std::map<std::uint64_t, std::uint64_t> filesystems_;  // by device
  std::set<std::string> places_;                        // of the first few files
  std::set<std::string> directories_;                   // of all files
};

// Opens shards. Thread-safe.
class Opener {
 public:
  Opener(std::vector<std::string> paths, std::vector<ShardFile> files, const Options& options, Services& services)
      : paths_(std::move(paths)), files_(std::move(files)), options_(options), services_(services) {}

  Result<std::shared_ptr<const RecordStore>> open(const RequestContext& context, std::size_t shard) {
    if (auto failure = failure_of(shard)) return *failure;
    TRY(context.permit_wait_for(files_[shard].filesystem));
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

  std::string shown(std::size_t shard) const {
    return options_.redact ? fmt::format("shard {}", shard) : paths_[shard];
  }

 private:
  std::optional<Error> failure_of(std::size_t shard) {
    const std::lock_guard lock(mutex_);
    const auto found = failures_.find(shard);
    if (found == failures_.end()) return std::nullopt;
    return found->second;
  }

  Result<std::shared_ptr<const RecordStore>> open_now(const RequestContext& context, std::size_t shard) {
    ASSIGN_OR_RETURN(auto file, open_same(shard));
    ASSIGN_OR_RETURN(auto opened,
                     open_file(context, std::move(file), paths_[shard], options_.limits, services_, shown(shard)));
    services_.log(Severity::kDetail, fmt::format("{}: {}, {}", shown(shard), opened.store->traits().format,
                                                 counted(opened.store->source().size(), "byte")));
    return std::move(opened.store);
  }

  // Opens the file if it is still what it was.
  Result<Descriptor> open_same(std::size_t shard) const {
    Descriptor file(::open(paths_[shard].c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!file) {
      const int why = errno;
      const bool may_pass = why == EIO || why == EMFILE || why == ENFILE || why == ENOMEM || why == EINTR ||
                            why == ESTALE || why == ETIMEDOUT;
      return may_pass ? system_error(why) : damage(std::strerror(why));
    }
    struct stat st {};
    if (::fstat(file.number(), &st) != 0) return system_error(errno);
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) return damage("not a regular file");
    if (FileIdentity::of(st) != files_[shard].identity) return damage("changed after it was mounted");
    return file;
  }

  const std::vector<std::string> paths_;
  const std::vector<ShardFile> files_;
  const Options& options_;
  Services& services_;
  std::mutex mutex_;                       // guards the next
  std::map<std::size_t, Error> failures_;  // that do not pass
};

void log_some(const std::vector<std::string>& lines, std::string_view noun, const Services& services) {
  for (std::size_t i = 0; i < std::min(lines.size(), kMostNamed); ++i) services.log(Severity::kWarning, lines[i]);
  if (lines.size() <= kMostNamed) return;
  services.log(Severity::kWarning, fmt::format("and {} more {}", lines.size() - kMostNamed, noun));
}

void log_gaps(const ShardList& list, const Options& options, const Services& services) {
  std::vector<std::string> missing;
  std::vector<std::string> surplus;
  for (std::size_t i = 0; i < list.shards.size(); ++i) {
    const Shard& shard = list.shards[i];
    const std::string shown = options.redact ? fmt::format("shard {}", i) : shard.path;
    if (shard.is_missing) missing.push_back(shown + ": this shard is missing");
  }
  for (const std::string& path : list.surplus) {
    surplus.push_back((options.redact ? std::string("a file") : path) + ": this shard is surplus, and left out");
  }
  log_some(missing, "missing shards", services);
  log_some(surplus, "surplus shards", services);
}

// Returns the format of the first shard that can be opened, of the first few that are present.
Result<std::string_view> first_format(const ShardList& list, Opener& opener) {
  std::optional<Error> first;
  std::size_t tried = 0;
  for (std::size_t shard = 0; shard < list.shards.size() && tried < kMostTried; ++shard) {
    if (list.shards[shard].is_missing) continue;
    const auto opened = opener.open({}, shard);
    if (opened) return (*opened)->traits().format;
    if (tried++ == 0) first = Error{.code = Code::kIo, .detail = open_failure(opener.shown(shard), opened.error())};
  }
  if (first) return *first;
  return Error{.code = Code::kIo, .detail = opener.shown(0) + ": " + std::strerror(ENOENT)};
}

}  // namespace

Result<JoinedFiles> join_sources(const Options& options, Services& services) {
  auto list = list_shards(options.sources, is_container_file);
  if (!list) return Error{.code = Code::kIo, .detail = list.error().detail};
  Examiner examiner(options);
  for (Shard& shard : list->shards) examiner.examine(shard);
  services.address_bits = ShardNumbers::value_bits(list->shards.size()) - 1;
  std::vector<std::string> paths;
  for (const Shard& shard : list->shards) paths.push_back(shard.path);
  const auto opener = std::make_shared<Opener>(std::move(paths), examiner.files(), options, services);
  ASSIGN_OR_RETURN(const auto format, first_format(*list, *opener));
  log_gaps(*list, options, services);
  services.log(Severity::kDetail, fmt::format("a data set: {}", counted(list->shards.size(), "shard")));
  const auto open = [opener](const RequestContext& context, std::size_t shard) { return opener->open(context, shard); };
  return JoinedFiles{.source = {.name = {},
                                .list = std::move(*list),
                                .ownerships = examiner.ownerships(),
                                .stored = examiner.stored(),
                                .format = format,
                                .open = open},
                     .places = examiner.places()};
}

}  // namespace recordfs
