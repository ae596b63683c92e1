#include "core/base/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/call_filter.h"
#include "core/base/descriptor.h"
#include "core/base/landlock.h"

namespace recordfs {
namespace {

#ifdef RECORDFS_SANITIZED
constexpr bool kConfines = false;
#else
constexpr bool kConfines = true;
#endif

// --- files (Landlock)

// With the right to remove directories, the kernel says that a file cannot replace one.
constexpr std::uint64_t kWriting = landlock::kWriteFile | landlock::kMakeFile | landlock::kMakeDirectory |
                                   landlock::kRemoveFile | landlock::kRemoveDirectory | landlock::kTruncate;
// Terminals are controlled, and files are read.
constexpr std::uint64_t kFree = landlock::kReadFile | landlock::kReadDirectory | landlock::kDeviceControl;

void keep_files(std::span<const std::string> writable, long version) {
  if (version < 1) return;
  const auto rules = landlock::Rules::deny(kFree, version);
  if (!rules) return;
  for (const std::string& directory : writable) {
    rules->allow(Descriptor(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), kWriting);
  }
  rules->begin();
}

// --- system calls (seccomp)

// Landlock covers all other changes of files. io_uring would bypass the filter.
constexpr long kRefused[] = {
    SYS_execve, SYS_execveat, SYS_socket, SYS_connect, SYS_kill, SYS_ptrace, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_truncate, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_setxattr,
    SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_bpf, SYS_perf_event_open,
    SYS_userfaultfd, SYS_unshare, SYS_setns, SYS_add_key, SYS_request_key, SYS_keyctl,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown,
#endif
    // From 424 on, calls have the same number on all architectures. Older headers lack some.
    424,  // pidfd_send_signal
    425,  // io_uring_setup
    438,  // pidfd_getfd
    452,  // fchmodat2
    463,  // setxattrat
    466,  // removexattrat
};

void keep_system_calls(bool refuses_truncation) {
  CallFilter filter(CallAction::kAllow);
  for (const long call : kRefused) filter.add(call, CallAction::kRefuse);
  // These put words into a terminal's input.
  for (const auto request : {std::uint64_t{TIOCSTI}, std::uint64_t{TIOCLINUX}})
    filter.add(SYS_ioctl, CallAction::kRefuse, CallArgument{1, kIntArgument, request});
  if (refuses_truncation) {
    filter.add(SYS_openat, CallAction::kRefuse, CallArgument{2, O_TRUNC, O_TRUNC});
    filter.add(SYS_openat2, CallAction::kMissing);  // its flags are in memory, which a filter cannot read
#ifdef SYS_open
    filter.add(SYS_open, CallAction::kRefuse, CallArgument{1, O_TRUNC, O_TRUNC});
    filter.add(SYS_creat, CallAction::kRefuse);
#endif
  }
  filter.begin();
}

// --- capabilities

// To read and replace files of other owners.
constexpr unsigned kKeptCapabilities = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER;

// --- threads

thread_local bool is_confined = false;

// Where new threads write; null: they are not confined. Without a mutex, which a process that forks could copy while it
// is locked. Lists are never deleted, since a thread may read one; there is one for each directory.
std::atomic<const std::vector<std::string>*> writable_by_new_threads{nullptr};

}  // namespace

bool confines_threads() { return kConfines; }

unsigned own_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capget, &header, sets) == 0 ? sets[0].effective & sets[0].permitted : 0;
}

bool keep_capabilities(unsigned kept) {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  if (kept != 0) kept &= own_capabilities();
  sets[0] = {.effective = kept, .permitted = kept, .inheritable = 0};
  return ::syscall(SYS_capset, &header, sets) == 0;
}

void confine_thread(std::span<const std::string> writable) {
  if (!kConfines || is_confined || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  is_confined = true;
  const long version = landlock::version();
  keep_capabilities(kKeptCapabilities);
  keep_files(writable, version);
  keep_system_calls(version < landlock::kVersionWithTruncate);
}

void confine_new_threads(const std::string& writable) {
  if (!kConfines) return;
  const std::vector<std::string>* known = writable_by_new_threads;
  for (;;) {
    if (known != nullptr && (writable.empty() || std::ranges::find(*known, writable) != known->end())) return;
    auto all = std::make_unique<std::vector<std::string>>();
    if (known != nullptr) *all = *known;
    if (!writable.empty()) all->push_back(writable);
    if (!writable_by_new_threads.compare_exchange_strong(known, all.get())) continue;
    static_cast<void>(all.release());  // kept for good
    return;
  }
}

ThreadOrigin::ThreadOrigin() : is_confined_(is_confined) {}

void ThreadOrigin::begin() const {
  is_confined = is_confined_;
  const std::vector<std::string>* const writable = writable_by_new_threads;
  if (!is_confined && writable != nullptr) confine_thread(*writable);
}

}  // namespace recordfs
