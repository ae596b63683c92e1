#include "core/base/landlock.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace recordfs::landlock {
namespace {

constexpr std::uint64_t kRefer = 1ull << 13;
constexpr std::uint64_t kFirstRights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // of version 1
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr std::uint64_t kTcp = 1ull << 0 | 1ull << 1;             // bind, connect
constexpr std::uint64_t kOtherProcesses = 1ull << 0 | 1ull << 1;  // abstract sockets, signals

// struct landlock_ruleset_attr as of version 6.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t net = 0;
  std::uint64_t scoped = 0;
};

Ruleset all_rights(long version) {
  Ruleset rights{.files = kFirstRights};
  if (version >= 2) rights.files |= kRefer;
  if (version >= kVersionWithTruncate) rights.files |= kTruncate;
  if (version >= 4) rights.net = kTcp;
  if (version >= 5) rights.files |= kDeviceControl;
  if (version >= 6) rights.scoped = kOtherProcesses;
  return rights;
}

// Size of the prefix of Ruleset that a kernel with this version supports.
std::size_t size_of_rights(long version) {
  constexpr std::size_t kNumber = sizeof(std::uint64_t);
  return version < 4 ? kNumber : version < 6 ? 2 * kNumber : 3 * kNumber;
}

}  // namespace

long version() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION); }

Result<Rules> Rules::deny(std::uint64_t free, long version) {
  Ruleset rights = all_rights(version);
  rights.files &= ~free;
  Descriptor made(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rights, size_of_rights(version), 0)));
  if (!made) return system_error(errno);
  return Rules(std::move(made), rights.files);
}

bool Rules::allow(const Descriptor& there, std::uint64_t rights) const {
  struct stat st {};
  if (!there || ::fstat(there.number(), &st) != 0) return true;
  const std::uint64_t possible = S_ISDIR(st.st_mode) ? rights : rights & kOfFiles;
  const landlock_path_beneath_attr rule{.allowed_access = possible & known_, .parent_fd = there.number()};
  return ::syscall(SYS_landlock_add_rule, descriptor_.number(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

bool Rules::begin() const { return ::syscall(SYS_landlock_restrict_self, descriptor_.number(), 0) == 0; }

}  // namespace recordfs::landlock
