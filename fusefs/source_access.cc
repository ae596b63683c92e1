#include "fusefs/source_access.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/cursor.h"

namespace recordfs {
namespace {

constexpr mode_t kRead = 4;
constexpr mode_t kSearch = 1;

// Format of the attribute system.posix_acl_access: a version, then entries (<linux/posix_acl_xattr.h>), little-endian.
struct AclEntry {
  std::uint16_t tag = 0;
  std::uint16_t permissions = 0;
  std::uint32_t id = 0;
};
constexpr std::size_t kAclHeader = 4;
constexpr std::size_t kAclEntry = 8;
constexpr std::size_t kLargestAcl = 64u << 10;
constexpr std::uint16_t kNamedUser = 0x02;
constexpr std::uint16_t kOwningGroup = 0x04;
constexpr std::uint16_t kNamedGroup = 0x08;
constexpr std::uint16_t kMask = 0x10;

// Returns the entries; none if there is no list, or if the filesystem has none.
std::vector<AclEntry> acl_of(const std::string& path) {
  std::vector<std::byte> bytes(kLargestAcl);
  const ssize_t size = ::getxattr(path.c_str(), "system.posix_acl_access", bytes.data(), bytes.size());
  std::vector<AclEntry> entries;
  for (std::size_t at = kAclHeader; size > 0 && at + kAclEntry <= static_cast<std::size_t>(size); at += kAclEntry) {
    Cursor entry(Bytes(bytes).subspan(at, kAclEntry));
    entries.push_back({.tag = entry.u16_le(), .permissions = entry.u16_le(), .id = entry.u32_le()});
  }
  return entries;
}

// Returns which of the owner (0400), the group (0040) and others (0004) have a permission, as far as all users of the
// class have it.
mode_t classes_with(mode_t permission, const std::string& path, mode_t mode) {
  const auto bit = [permission](unsigned shift) { return permission << shift; };
  mode_t classes =
      ((mode & bit(6)) != 0 ? 0400u : 0u) | ((mode & bit(3)) != 0 ? 0040u : 0u) | ((mode & bit(0)) != 0 ? 0004u : 0u);
  const auto entries = acl_of(path);
  mode_t mask = 7;
  for (const AclEntry& entry : entries) {
    if (entry.tag == kMask) mask = entry.permissions;
  }
  for (const AclEntry& entry : entries) {
    const bool has_it = (entry.permissions & mask & permission) != 0;
    if (has_it) continue;
    // The bits of the group are those of the mask. A user that is denied may be a member of the group.
    if (entry.tag == kOwningGroup) classes &= ~mode_t{0040};
    if (entry.tag == kNamedUser || entry.tag == kNamedGroup) classes &= mode_t{0400};
  }
  return classes;
}

// Returns which of the owner, the group and the others of a file can search a directory.
mode_t classes_that_search(const std::string& directory, const Ownership& file) {
  struct stat st {};
  if (::stat(directory.c_str(), &st) != 0) return 0;
  const mode_t classes = classes_with(kSearch, directory, st.st_mode);
  mode_t found = (classes & 0004u) != 0 ? 0444u : 0u;
  if (st.st_uid == file.uid) found = (found & 0044u) | (classes & 0400u);
  if (st.st_gid == file.gid) found = (found & 0404u) | (classes & 0040u);
  return found;
}

}  // namespace

Ownership ownership_of(const SourceStatus& status) {
  const SourceOwner owner = status.owner.value_or(SourceOwner{::geteuid(), ::getegid(), S_IRUSR});
  return container_ownership(owner.uid, owner.gid, owner.mode, status.modified);
}

Ownership ownership_of(const Source& source) {
  return ownership_of({.modified = source.modified().value_or(timespec{}), .owner = source.owner()});
}

void keep_only_readers(Ownership& ownership, const std::string& path, const Options& options) {
  if (!options.allow_other || options.umask || !Location(path).is_local()) return;
  struct stat st {};
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  mode_t classes = 0;
  if (!failed && ::stat(real.c_str(), &st) == 0) classes = classes_with(kRead, real, st.st_mode);
  for (auto directory = real.parent_path(); classes != 0; directory = directory.parent_path()) {
    classes &= classes_that_search(directory, ownership);
    if (directory == directory.root_path()) break;
  }
  ownership.file_mode &= classes;
  ownership.directory_mode &= directory_mode_for(classes);
}

}  // namespace recordfs
