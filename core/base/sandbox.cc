#include "core/base/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

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

// --- system calls (seccomp). libseccomp would take longer than all the rest.

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kEndOfCalls = 0x40000000;  // from here on, those of the x32 ABI
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kEndOfCalls = 0x80000000;
#else
constexpr std::uint32_t kArchitecture = 0;  // there is no filter
constexpr std::uint32_t kEndOfCalls = 0x80000000;
#endif

// What the filter does with a system call.
enum class Action : std::uint8_t {
  kAllow,
  kRefuse,
  kIoctl,    // refuses requests that put words into a terminal's input
  kOpen,     // refuses flags in the second argument that truncate
  kOpenat,   // the same, in the third
  kMissing,  // its callers fall back to another call
};

struct CallAction {
  std::uint32_t number;
  Action action = Action::kRefuse;
};

// Landlock covers all other changes of files. io_uring would bypass the filter.
constexpr std::uint32_t kRefused[] = {
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
constexpr std::uint32_t kOpenat2 = 437;

// Returns where each range of system calls begins, in order, and the action for it.
std::vector<CallAction> ranges_of_calls(bool refuses_truncation) {
  std::vector<CallAction> calls;
  for (const std::uint32_t number : kRefused) calls.push_back({number});
  calls.push_back({SYS_ioctl, Action::kIoctl});
  if (refuses_truncation) {
    calls.insert(calls.end(), {{SYS_openat, Action::kOpenat}, {kOpenat2, Action::kMissing}});
#ifdef SYS_open
    calls.insert(calls.end(), {{SYS_open, Action::kOpen}, {SYS_creat}});
#endif
  }
  std::ranges::sort(calls, {}, &CallAction::number);
  std::vector<CallAction> ranges = {{0, Action::kAllow}};
  const auto begin = [&ranges](std::uint32_t number, Action action) {
    if (ranges.back().number == number) ranges.pop_back();
    if (ranges.empty() || ranges.back().action != action) ranges.push_back({number, action});
  };
  for (const CallAction& call : calls) {
    begin(call.number, call.action);
    begin(call.number + 1, Action::kAllow);
  }
  begin(kEndOfCalls, Action::kRefuse);
  return ranges;
}

using Program = std::vector<sock_filter>;

constexpr sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter answer(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
// Goes to one of the next instructions: 0 is the next.
constexpr sock_filter jump(std::uint16_t compare, std::uint32_t value, std::uint8_t if_so, std::uint8_t if_not) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | compare | BPF_K), value, if_so, if_not);
}

constexpr sock_filter kAllowed = answer(SECCOMP_RET_ALLOW);
constexpr sock_filter refused(std::uint32_t error) { return answer(SECCOMP_RET_ERRNO | error); }

// Returns where the lower half of an argument is.
constexpr std::size_t argument(std::size_t number) {
  return offsetof(seccomp_data, args) + number * sizeof(std::uint64_t) +
         (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(std::uint32_t) : 0);
}

void add_action(Action action, Program& program) {
  const auto add = [&program](std::initializer_list<sock_filter> all) { program.insert(program.end(), all); };
  switch (action) {
    case Action::kAllow: return add({kAllowed});
    case Action::kRefuse: return add({refused(EPERM)});
    case Action::kMissing: return add({refused(ENOSYS)});
    case Action::kIoctl:
      return add(
          {load(argument(1)), jump(BPF_JEQ, TIOCSTI, 2, 0), jump(BPF_JEQ, TIOCLINUX, 1, 0), kAllowed, refused(EPERM)});
    case Action::kOpen: return add({load(argument(1)), jump(BPF_JSET, O_TRUNC, 0, 1), refused(EPERM), kAllowed});
    case Action::kOpenat: return add({load(argument(2)), jump(BPF_JSET, O_TRUNC, 0, 1), refused(EPERM), kAllowed});
  }
}

// Searches by halves: when a filter is installed, the kernel tries it with each system call.
void add_search(std::span<const CallAction> ranges, Program& program) {
  if (ranges.size() == 1) return add_action(ranges.front().action, program);
  const auto upper = ranges.subspan(ranges.size() / 2);
  const std::size_t at = program.size();
  program.push_back({});
  add_search(ranges.first(ranges.size() / 2), program);
  const auto lower_size = static_cast<std::uint8_t>(program.size() - at - 1);
  program[at] = jump(BPF_JGE, upper.front().number, lower_size, 0);
  add_search(upper, program);
}

void keep_system_calls(bool refuses_truncation) {
  if (kArchitecture == 0) return;
  Program program = {load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0),
                     answer(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
  add_search(ranges_of_calls(refuses_truncation), program);
  const sock_fprog all{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  // Otherwise older kernels make the process slower, against a speculation that does not matter here.
  constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &all);
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
