#include "fusefs/confinement/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/descriptor.h"

namespace recordfs {
namespace {

// Constants of newer kernels that older headers lack. See landlock(7), "VERSIONS".
constexpr std::uint64_t kRefer = 1ull << 13;
constexpr std::uint64_t kTruncate = 1ull << 14;
constexpr std::uint64_t kDeviceControl = 1ull << 15;
constexpr std::uint64_t kBindTcp = 1ull << 0;
constexpr std::uint64_t kConnectTcp = 1ull << 1;
constexpr std::uint64_t kAbstractSockets = 1ull << 0;
constexpr std::uint64_t kSignals = 1ull << 1;

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kReadDirectory = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr std::uint64_t kFirstRights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // of version 1
constexpr std::uint64_t kSaving =
    kReadFile | kReadDirectory | kWriteFile | kTruncate | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;

// struct landlock_ruleset_attr as of version 6.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t net = 0;
  std::uint64_t scoped = 0;
};

Ruleset all_rights(long version) {
  Ruleset rights{.files = kFirstRights};
  if (version >= 2) rights.files |= kRefer;
  if (version >= 3) rights.files |= kTruncate;
  if (version >= 4) rights.net = kBindTcp | kConnectTcp;
  if (version >= 5) rights.files |= kDeviceControl;
  if (version >= 6) rights.scoped = kAbstractSockets | kSignals;
  return rights;
}

// Size of the prefix of Ruleset that a kernel with this Landlock version supports.
std::size_t size_of_rights(long version) {
  constexpr std::size_t kNumber = sizeof(std::uint64_t);
  return version < 4 ? kNumber : version < 6 ? 2 * kNumber : 3 * kNumber;
}

std::string failure() { return fmt::format("files: Landlock: {}", std::strerror(errno)); }

class Rules {
 public:
  Rules(Descriptor descriptor, std::uint64_t known) : descriptor_(std::move(descriptor)), known_(known) {}

  // Returns false if a place exists and the kernel rejects the rule.
  bool allow(const std::vector<Descriptor>& places, std::uint64_t rights) const {
    return std::ranges::all_of(places, [&](const Descriptor& there) {
      struct stat st {};
      if (!there || ::fstat(there.number(), &st) != 0) return true;
      const std::uint64_t possible = S_ISDIR(st.st_mode) ? rights : rights & kOfFiles;
      const landlock_path_beneath_attr rule{.allowed_access = possible & known_, .parent_fd = there.number()};
      return ::syscall(SYS_landlock_add_rule, descriptor_.number(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    });
  }

  bool begin() const { return ::syscall(SYS_landlock_restrict_self, descriptor_.number(), 0) == 0; }

 private:
  Descriptor descriptor_;
  std::uint64_t known_;
};

}  // namespace

std::optional<std::string> keep_files(const AllowedPaths& within) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return std::nullopt;
  const Ruleset rights = all_rights(version);
  Descriptor made(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rights, size_of_rights(version), 0)));
  if (!made) return failure();
  const Rules rules(std::move(made), rights.files);
  const bool all_taken = rules.allow(within.readable, kReadFile | kReadDirectory) &&
                         rules.allow(within.saved, kSaving) &&
                         rules.allow(within.devices, kReadFile | kWriteFile | kDeviceControl);
  if (!all_taken || !rules.begin()) return failure();
  return std::nullopt;
}

}  // namespace recordfs
