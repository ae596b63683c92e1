#include "fusefs/mount_point.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/base/storage.h"
#include "core/dataset/shard_list.h"
#include "core/dataset/shard_name.h"
#include "fusefs/glue/mount_table.h"
#include "fusefs/glue/unmounting.h"

namespace recordfs {
namespace {

constexpr mode_t kAsTheMaskAllows = 0777;
constexpr std::string_view kTriggerType = "autofs";  // of automount(8), and of systemd.automount(5)

Error failure(std::string reason) { return {.code = Code::kIo, .detail = std::move(reason)}; }

// Returns whether a word cannot be a mount point: a URL, or a file.
bool is_source(const std::string& word) {
  const auto status = status_of({}, word);
  return !Location(word).is_local() || (status && status->kind != SourceKind::kDirectory);
}

// Returns whether a mount point can have this name: an empty directory, or nothing.
bool is_free(const std::string& name) {
  std::error_code failed;
  const auto status = std::filesystem::symlink_status(name, failed);
  if (status.type() == std::filesystem::file_type::not_found) return true;
  if (failed || !std::filesystem::is_directory(status)) return false;
  const std::filesystem::directory_iterator entries(name, failed);
  return !failed && entries == std::filesystem::directory_iterator();
}

// Returns "data" for "/srv/data.riegeli", or "data.mnt" if there is no extension or "data" is taken.
Result<std::string> named_after(const std::string& source) {
  std::filesystem::path file(source);
  if (!file.has_filename()) file = file.parent_path();  // "folder/"
  const std::string name = file.filename();
  const std::string stem = file.stem();
  if (stem != name && is_free(stem)) return stem;
  std::string longer = stem + ".mnt";
  if (!name.empty() && name != "." && name != ".." && is_free(longer)) return longer;
  return failure(fmt::format("{}: cannot mount: the name is taken (give a mount point)", longer));
}

// Returns what a data set is named after: "train.tfrecord" for a word that means shards such as
// train-00017-of-00128.tfrecord, and the part of a pattern before the first wildcard.
std::string set_named_by(const std::string& word) {
  auto family = parse_sharded_spec(word);
  if (const auto shard = family ? std::nullopt : parse_sharded_wildcard(word)) family = shard->family;
  if (const auto shard = family ? std::nullopt : parse_shard_name(word)) family = shard->family;
  if (family) return family->prefix.substr(0, family->prefix.size() - 1) + family->suffix;
  const std::string plain = word.substr(0, word.find_first_of("*?["));
  return plain.substr(0, plain.find_last_not_of("-_.") + 1);
}

// Returns the absolute path, because the daemon changes its directory.
std::string absolute(const std::string& path) {
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  return failed ? path : real.string();
}

// Returns the absolute path without accessing the last component, which may be a dead mount.
std::string beside(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).lexically_normal();
  const auto plain = name.has_filename() ? name : name.parent_path();
  return std::filesystem::path(absolute(plain.has_parent_path() ? plain.parent_path().string() : ".")) /
         plain.filename();
}

// Returns why a directory cannot be a mount point, or nothing. The root of another filesystem can be one, such as of a
// new tmpfs. An automounter's trigger is not listed: that would wait for the mount that is being made.
std::optional<std::string> problem_of(const std::string& path, bool nonempty) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return std::strerror(errno);
  if (!S_ISDIR(st.st_mode)) return "not a directory";
  const std::string type = type_of_mount(path);
  if (type == kTriggerType) return std::nullopt;
  if (type == kMountType && !nonempty) return "recordfs has already mounted a source there (try: recordfs umount)";
  std::error_code failed;
  const std::filesystem::directory_iterator entries(path, failed);
  if (failed) return failed.message();
  if (!nonempty && entries != std::filesystem::directory_iterator())
    return "the directory is not empty (try: -o nonempty)";
  return std::nullopt;
}

}  // namespace

bool is_open_device(const std::string& path) { return path.starts_with("/dev/fd/"); }

Result<bool> choose_mount_point(Options& options) {
  if (options.form != Form::kCommand) return false;
  if (is_open_device(options.mountpoint)) return false;
  const bool is_pattern = options.join && names_set(options.mountpoint) && !is_directory(options.mountpoint);
  if (!options.manifest && (is_pattern || is_source(options.mountpoint)))
    options.sources.push_back(std::exchange(options.mountpoint, {}));
  if (!options.mountpoint.empty()) return false;
  const std::string& first = options.sources.front();
  const bool is_set = options.join && !is_directory(first);
  ASSIGN_OR_RETURN(auto name, named_after(is_set ? set_named_by(first) : first));
  options.mountpoint = std::move(name);
  return true;
}

MountPoint::MountPoint(MountPoint&& other) noexcept
    : path_(std::move(other.path_)), was_made_(std::exchange(other.was_made_, false)) {}

Result<MountPoint> MountPoint::at(const Options& options) {
  const std::string& name = options.mountpoint;
  if (is_open_device(name)) return MountPoint(name, false);
  clear_dead_mounts(beside(name));
  struct stat st {};
  const bool shall_make = options.form != Form::kMount8 && ::lstat(name.c_str(), &st) != 0 && errno == ENOENT;
  if (shall_make && ::mkdir(name.c_str(), kAsTheMaskAllows) != 0) {
    return failure(fmt::format("cannot create the directory: {}", std::strerror(errno)));
  }
  MountPoint point(absolute(name), shall_make);
  if (auto problem = problem_of(point.path_, options.nonempty)) return failure(std::move(*problem));
  return point;
}

void MountPoint::remove() const {
  if (was_made_) ::rmdir(path_.c_str());
}

}  // namespace recordfs
