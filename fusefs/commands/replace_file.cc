#include "fusefs/commands/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "fusefs/commands/command_context.h"

namespace recordfs {
namespace {

constexpr mode_t kPermissionBits = 07777;

Result<void> status_of(int error) {
  if (error == 0) return {};
  return system_error(error);
}

mode_t without_umask(mode_t mode) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mode & ~mask;
}

// Some file systems cannot sync.
int write_durably(int file, std::string_view content) {
  if (const int failed = write_all(file, as_bytes(content)); failed != 0) return failed;
  return ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
}

int write_in_place(const std::string& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  return file ? write_all(file.number(), as_bytes(content)) : errno;
}

// Returns the path to which a link leads, whether something is there or not.
std::filesystem::path followed(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::error_code failed;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, failed); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  }
  return path;
}

// Returns false if the file must be written in place.
bool keeps_owner(int file, const struct stat& before) {
  struct stat st {};
  if (::fstat(file, &st) != 0) return false;
  const bool is_same = st.st_uid == before.st_uid && st.st_gid == before.st_gid;
  return is_same || ::fchown(file, before.st_uid, before.st_gid) == 0;
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode) {
  struct stat st {};
  const bool exists = ::stat(path.c_str(), &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) return status_of(write_in_place(path, content));
  const std::string target = followed(path).string();
  std::string unfinished = target + ".XXXXXX";
  const Descriptor file(::mkostemp(unfinished.data(), O_CLOEXEC));
  if (!file && (!exists || errno == ENOSPC)) return system_error(errno);
  if (!file) return status_of(write_in_place(path, content));
  if (exists && !keeps_owner(file.number(), st)) {
    ::unlink(unfinished.c_str());
    return status_of(write_in_place(path, content));
  }
  int failed = write_durably(file.number(), content);
  const mode_t wanted = exists ? st.st_mode & kPermissionBits : without_umask(mode);
  if (failed == 0 && ::fchmod(file.number(), wanted) != 0) failed = errno;
  if (failed == 0 && ::rename(unfinished.c_str(), target.c_str()) != 0) failed = errno;
  if (failed != 0) ::unlink(unfinished.c_str());
  return status_of(failed);
}

}  // namespace recordfs
