#include "fusefs/confinement/confinement.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "fusefs/confinement/landlock.h"
#include "fusefs/confinement/system_calls.h"

namespace recordfs {
namespace {

// Loads what the C library otherwise opens on first use.
void open_what_opens_late() {
  ::tzset();
  // Needed by pthread_cancel, which libfuse calls at exit. Never closed.
  static_cast<void>(::dlopen("libgcc_s.so.1", RTLD_NOW));
}

std::optional<std::string> failed(std::string_view what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

// To unmount, and to reach and remove the mount point regardless of the owner of the directories above it.
constexpr unsigned kCapabilitiesOfUnmountGuard =
    1u << CAP_SYS_ADMIN | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER;

// Returns the first 32 capabilities of the process, or 0 if they cannot be read.
unsigned own_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capget, &header, sets) == 0 ? sets[0].effective & sets[0].permitted : 0;
}

// Drops all capabilities except those in `kept` that the process has.
std::optional<std::string> give_up_capabilities(unsigned kept) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (kept != 0) kept &= own_capabilities();
  sets[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  if (::syscall(SYS_capset, &header, sets) != 0) return failed("capabilities");
  return std::nullopt;
}

}  // namespace

Descriptor found_at(const std::string& path) { return Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC)); }

std::vector<std::string> confine(const AllowedPaths& within) {
  open_what_opens_late();
  std::vector<std::string> kept;
  const auto note = [&kept](std::optional<std::string> why) {
    if (why) kept.push_back(std::move(*why));
  };
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) note(failed("new privileges"));
  note(give_up_capabilities(within.reads_all_owners ? 1u << CAP_DAC_READ_SEARCH : 0));
  note(keep_files(within));
  note(keep_system_calls());
  return kept;
}

std::vector<std::string> confine_unmount_guard() {
  std::vector<std::string> kept;
  if ((own_capabilities() & 1u << CAP_SYS_ADMIN) == 0) return kept;
  const auto note = [&kept](std::optional<std::string> why) {
    if (why) kept.push_back(std::move(*why));
  };
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) note(failed("new privileges"));
  note(give_up_capabilities(kCapabilitiesOfUnmountGuard));
  note(keep_system_calls_of_unmount_guard());
  return kept;
}

}  // namespace recordfs
