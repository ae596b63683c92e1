#include "fusefs/confinement/confinement.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/landlock.h"
#include "core/base/sandbox.h"

namespace recordfs {
namespace {

// --- files (Landlock)

constexpr std::uint64_t kReading = landlock::kReadFile | landlock::kReadDirectory;
constexpr std::uint64_t kSaving = kReading | landlock::kWriteFile | landlock::kMakeFile | landlock::kRemoveFile;
constexpr std::uint64_t kUsingDevices = landlock::kReadFile | landlock::kWriteFile | landlock::kDeviceControl;

// Allows opening only what is `within`, and blocks TCP connections and signals to other processes as far as the
// kernel's Landlock version (landlock(7)) supports it. Does nothing if the kernel has no Landlock. Returns what failed,
// or nullopt.
std::optional<std::string> keep_files(const AllowedPaths& within, long version) {
  if (version < 1) return std::nullopt;
  const auto rules = landlock::Rules::deny(0, version);
  if (!rules) return "files: Landlock: " + rules.error().detail;
  const auto allow = [&rules](const std::vector<Descriptor>& places, std::uint64_t rights) {
    return std::ranges::all_of(places, [&](const Descriptor& there) { return rules->allow(there, rights); });
  };
  const bool all_taken = allow(within.readable, kReading) && allow(within.listed, landlock::kReadDirectory) &&
                         allow(within.saved, kSaving) && allow(within.devices, kUsingDevices);
  if (all_taken && rules->begin()) return std::nullopt;
  return fmt::format("files: Landlock: {}", std::strerror(errno));
}

// --- system calls (seccomp)

// Grouped by purpose. Calls that the processor architecture lacks are skipped.
constexpr int kAllowed[] = {
    // reading sources, /dev/fuse and the helpers' sockets; replying
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(preadv2), SCMP_SYS(write),
    SCMP_SYS(writev), SCMP_SYS(splice), SCMP_SYS(vmsplice), SCMP_SYS(tee), SCMP_SYS(pipe2), SCMP_SYS(lseek),
    SCMP_SYS(fadvise64), SCMP_SYS(readahead), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
    // accessible files
    SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(stat),
    SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(fstatfs),
    SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64), SCMP_SYS(getxattr), SCMP_SYS(fgetxattr), SCMP_SYS(chdir), SCMP_SYS(getcwd), SCMP_SYS(umask),
    // waiting
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2), SCMP_SYS(futex), SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(wait4), SCMP_SYS(restart_syscall),
    // memory
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mincore),
    // threads, signals, exit; dropping capabilities
    SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address), SCMP_SYS(gettid),
    SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler), SCMP_SYS(membarrier), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigsuspend), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(capget), SCMP_SYS(capset),
    // clocks, identity
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom),
    SCMP_SYS(getcpu), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getrusage), SCMP_SYS(getuid), SCMP_SYS(geteuid),
    SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getrlimit), SCMP_SYS(arch_prctl)};

// For a process that saves files. Landlock restricts them to directories.
constexpr int kAllowedToSave[] = {SCMP_SYS(unlink),    SCMP_SYS(unlinkat),       SCMP_SYS(rename),
                                  SCMP_SYS(renameat),  SCMP_SYS(renameat2),      SCMP_SYS(fsync),
                                  SCMP_SYS(fdatasync), SCMP_SYS(sync_file_range)};

// For a process that watches changes of files.
constexpr int kAllowedToWatch[] = {SCMP_SYS(inotify_init1), SCMP_SYS(inotify_add_watch), SCMP_SYS(inotify_rm_watch)};

// Commands of fcntl(2) that concern only the descriptor itself. With F_SETOWN and F_SETSIG a process could have the
// kernel send signals to others; with F_SETLEASE it could delay their opening of files.
constexpr int kDescriptorCommands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,      F_SETFD,
                                       F_GETFL, F_SETFL,         F_SETPIPE_SZ, F_GETPIPE_SZ};

// For a process that waits, answers, unmounts, and opens the log.
constexpr int kAllowedToUnmountGuard[] = {
    SCMP_SYS(read),   SCMP_SYS(statx),        SCMP_SYS(umount2),    SCMP_SYS(rmdir),           SCMP_SYS(unlinkat),
    SCMP_SYS(brk),    SCMP_SYS(munmap),       SCMP_SYS(futex),      SCMP_SYS(rt_sigprocmask),  SCMP_SYS(rt_sigaction),
    SCMP_SYS(exit),   SCMP_SYS(rt_sigreturn), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall), SCMP_SYS(open),
    SCMP_SYS(openat), SCMP_SYS(fstat),        SCMP_SYS(newfstatat), SCMP_SYS(close),           SCMP_SYS(sendmsg)};

struct ReleaseFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};
using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, ReleaseFilter>;

constexpr std::uint64_t number(auto value) { return static_cast<std::uint64_t>(value); }

// Allows sending only to the connected peer: with an address, one socket could reach every listener.
int allow_sending(scmp_filter_ctx filter) {
  const scmp_arg_cmp no_address = SCMP_A4(SCMP_CMP_EQ, 0, 0);
  return ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 1, no_address);
}

// Calls that are allowed only with certain arguments.
int allow_in_part(scmp_filter_ctx filter, bool loads_code) {
  // Memory cannot become executable after this, unless libraries are still opened.
  const scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, number(PROT_EXEC), 0);
  const scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, number(CLONE_THREAD), number(CLONE_THREAD));
  // Signals to other processes of the same user would need no privilege.
  const scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, number(::getpid()), 0);
  const scmp_arg_cmp asks_for_limits = SCMP_A2(SCMP_CMP_EQ, 0, 0);
  const scmp_arg_cmp clones_device = SCMP_A1(SCMP_CMP_EQ, number(FUSE_DEV_IOC_CLONE), 0);
  const scmp_arg_cmp names_thread = SCMP_A0(SCMP_CMP_EQ, number(PR_SET_NAME), 0);
  int outcome = allow_sending(filter);
  if (loads_code) {
    outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 0);
    outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 0);
    outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(seccomp), 0);
  } else {
    outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, not_executable);
    outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_executable);
  }
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, thread);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, itself);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, asks_for_limits);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, clones_device);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, names_thread);
  // The arguments of clone3 are in memory, which a filter cannot read. On ENOSYS the C library falls back to clone.
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  return outcome;
}

// Flags of open(2) that truncate or create files. Landlock before version 3 does not restrict O_TRUNC, not even of a
// file that is opened for reading.
int allow_opening(scmp_filter_ctx filter, bool saves) {
  const std::uint64_t refused = number(O_TRUNC) | (saves ? 0 : number(O_CREAT));
  const scmp_arg_cmp open_flags = SCMP_A1(SCMP_CMP_MASKED_EQ, refused, 0);
  const scmp_arg_cmp openat_flags = SCMP_A2(SCMP_CMP_MASKED_EQ, refused, 0);
  return ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, open_flags) |
         ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, openat_flags);
}

int allow_descriptor_commands(scmp_filter_ctx filter) {
  int outcome = 0;
  for (const int command : kDescriptorCommands) {
    const scmp_arg_cmp is_this = SCMP_A1(SCMP_CMP_MASKED_EQ, 0xFFFFFFFFu, number(command));
    outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, is_this);
  }
  return outcome;
}

int allow_each(scmp_filter_ctx filter, std::span<const int> calls) {
  int outcome = 0;
  for (const int call : calls) {
    if (call >= 0) outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
  }
  return outcome;
}

std::optional<std::string> keep(const std::function<int(scmp_filter_ctx)>& allow) {
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return "system calls: no memory for the filter";
  // Otherwise system calls of the processor's other architectures would kill the process.
  int outcome = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  // A binary tree instead of a list: every read and every reply passes the filter.
  outcome |= ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  outcome |= allow(filter.get());
  if (outcome == 0) outcome = ::seccomp_load(filter.get());
  if (outcome == 0) return std::nullopt;
  return fmt::format("system calls: {}", std::strerror(outcome < 0 ? -outcome : EINVAL));
}

// Makes every system call that the daemon does not need fail with EPERM. Returns the reason if that failed, or nullopt.
std::optional<std::string> keep_system_calls(const AllowedPaths& within, long landlock_version) {
  return keep([&](scmp_filter_ctx filter) {
    const bool saves = !within.saved.empty();
    int outcome = allow_each(filter, kAllowed) | allow_in_part(filter, within.loads_code) |
                  allow_opening(filter, saves) | allow_descriptor_commands(filter);
    if (saves) outcome |= allow_each(filter, kAllowedToSave);
    if (within.watches) outcome |= allow_each(filter, kAllowedToWatch);
    // The flags of openat2 are in memory, which a filter cannot read. On ENOSYS callers fall back to openat.
    const auto openat2 = landlock_version < landlock::kVersionWithTruncate ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW;
    return outcome | ::seccomp_rule_add(filter, openat2, SCMP_SYS(openat2), 0);
  });
}

// Adds a filter to that of keep_system_calls(), for all threads.
std::optional<std::string> refuse_executable_memory() {
  const Filter filter(::seccomp_init(SCMP_ACT_ALLOW));
  if (!filter) return "executable memory: no memory for the filter";
  const scmp_arg_cmp executable = SCMP_A2(SCMP_CMP_MASKED_EQ, number(PROT_EXEC), number(PROT_EXEC));
  int outcome = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  outcome |= ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 0);  // the process has no new privileges already
  outcome |= ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  outcome |= ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mmap), 1, executable);
  outcome |= ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(mprotect), 1, executable);
  outcome |= ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0);
  if (outcome == 0) outcome = ::seccomp_load(filter.get());
  if (outcome == 0) return std::nullopt;
  return fmt::format("executable memory: {}", std::strerror(outcome < 0 ? -outcome : EINVAL));
}

// As keep_system_calls(), for a process that waits for a byte, answers, unmounts, removes a directory, and opens the
// log.
std::optional<std::string> keep_system_calls_of_unmount_guard() {
  return keep(
      [](scmp_filter_ctx filter) { return allow_each(filter, kAllowedToUnmountGuard) | allow_sending(filter); });
}

// --- capabilities

// Loads what the C library otherwise opens on first use.
void open_what_opens_late() {
  ::tzset();
#ifndef RECORDFS_STATIC
  // Needed by pthread_cancel, which libfuse calls at exit. Never closed.
  static_cast<void>(::dlopen("libgcc_s.so.1", RTLD_NOW));
#endif
}

std::optional<std::string> failed(std::string_view what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

// To unmount, and to reach and remove the mount point regardless of the owner of the directories above it.
constexpr unsigned kCapabilitiesOfUnmountGuard =
    1u << CAP_SYS_ADMIN | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER;

std::optional<std::string> give_up_capabilities(unsigned kept) {
  if (!keep_capabilities(kept)) return failed("capabilities");
  return std::nullopt;
}

std::optional<std::string> forbid_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("new privileges");
  return std::nullopt;
}

std::vector<std::string> failures_of(std::initializer_list<std::optional<std::string>> outcomes) {
  std::vector<std::string> failures;
  for (const auto& outcome : outcomes) {
    if (outcome) failures.push_back(*outcome);
  }
  return failures;
}

}  // namespace

Descriptor found_at(const std::string& path) { return Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC)); }

std::vector<std::string> confine(const AllowedPaths& within) {
  open_what_opens_late();
  const long version = landlock::version();
  const unsigned kept = (within.reads_all_owners ? 1u << CAP_DAC_READ_SEARCH : 0u) |
                        (within.saves_for_all_owners ? 1u << CAP_DAC_OVERRIDE : 0u);
  return failures_of({forbid_new_privileges(), give_up_capabilities(kept), keep_files(within, version),
                      keep_system_calls(within, version)});
}

std::vector<std::string> stop_reading_all_owners() { return failures_of({give_up_capabilities(0)}); }

std::vector<std::string> stop_loading_code() { return failures_of({refuse_executable_memory()}); }

std::vector<std::string> confine_unmount_guard() {
  if ((own_capabilities() & 1u << CAP_SYS_ADMIN) == 0) return {};
  return failures_of({forbid_new_privileges(), give_up_capabilities(kCapabilitiesOfUnmountGuard),
                      keep_system_calls_of_unmount_guard()});
}

}  // namespace recordfs
