#include "fusefs/confinement/confinement.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/call_filter.h"
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

// Grouped by purpose.
constexpr long kAllowed[] = {
// Not all processors have these, most of which newer ones replace.
#ifdef SYS_arch_prctl
    SYS_arch_prctl,
#endif
#ifdef SYS_open
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_poll, SYS_select, SYS_epoll_wait,
#endif
#ifdef SYS_time
    SYS_time,
#endif
#ifdef SYS_getrlimit
    SYS_getrlimit,
#endif
    // reading sources, /dev/fuse and the helpers' sockets; replying
    SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_preadv2, SYS_write, SYS_writev, SYS_splice, SYS_vmsplice, SYS_tee,
    SYS_pipe2, SYS_lseek, SYS_fadvise64, SYS_readahead, SYS_recvfrom, SYS_recvmsg,
    // accessible files
    SYS_close, SYS_close_range, SYS_dup, SYS_dup3, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs,
    SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_getxattr, SYS_fgetxattr, SYS_chdir, SYS_getcwd,
    SYS_umask,
    // waiting
    SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_futex, SYS_nanosleep,
    SYS_clock_nanosleep, SYS_wait4, SYS_restart_syscall,
    // memory
    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_mincore,
    // threads, signals, exit; dropping capabilities
    SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_set_tid_address, SYS_gettid, SYS_getpid, SYS_getppid,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler, SYS_membarrier,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending, SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_rt_sigreturn,
    SYS_sigaltstack, SYS_exit, SYS_exit_group, SYS_capget, SYS_capset,
    // clocks, identity
    SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getrandom, SYS_getcpu, SYS_sysinfo, SYS_uname,
    SYS_getrusage, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid};

// For a process that saves files. Landlock restricts them to directories.
constexpr long kAllowedToSave[] = {
#ifdef SYS_rename
    SYS_unlink,   SYS_rename,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
    SYS_unlinkat, SYS_renameat2, SYS_fsync, SYS_fdatasync, SYS_sync_file_range};

// For a process that watches changes of files.
constexpr long kAllowedToWatch[] = {SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch};

// Commands of fcntl(2) that concern only the descriptor itself. With F_SETOWN and F_SETSIG a process could have the
// kernel send signals to others; with F_SETLEASE it could delay their opening of files.
constexpr std::uint64_t kDescriptorCommands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,      F_SETFD,
                                                 F_GETFL, F_SETFL,         F_SETPIPE_SZ, F_GETPIPE_SZ};

// For a process that waits, answers, unmounts, and opens the log.
constexpr long kAllowedToUnmountGuard[] = {
#ifdef SYS_open
    SYS_open,   SYS_rmdir,
#endif
    SYS_read,   SYS_statx,        SYS_umount2,    SYS_unlinkat,        SYS_brk,
    SYS_munmap, SYS_futex,        SYS_exit,       SYS_rt_sigprocmask,  SYS_rt_sigaction,
    SYS_openat, SYS_rt_sigreturn, SYS_exit_group, SYS_restart_syscall, SYS_fstat,
    SYS_close,  SYS_newfstatat,   SYS_sendmsg};

constexpr std::uint64_t number(auto value) { return static_cast<std::uint64_t>(value); }

void allow_each(CallFilter& filter, std::span<const long> calls) {
  for (const long call : calls) filter.add(call, CallAction::kAllow);
}

// Allows sending only to the connected peer: with an address, one socket could reach every listener.
void allow_sending(CallFilter& filter) {
  filter.add(SYS_sendto, CallAction::kAllow, CallArgument{4, kWholeArgument, 0});
}

// Calls that are allowed only with certain arguments.
void allow_in_part(CallFilter& filter, bool loads_code) {
  const auto allow = [&filter](long call, const CallArgument& argument) {
    filter.add(call, CallAction::kAllow, argument);
  };
  allow_sending(filter);
  if (loads_code) {
    allow_each(filter, std::array<long, 3>{SYS_mmap, SYS_mprotect, SYS_seccomp});
  } else {
    // Memory cannot become executable after this, unless libraries are still opened.
    for (const long call : {SYS_mmap, SYS_mprotect}) allow(call, {2, PROT_EXEC, 0});
  }
  allow(SYS_clone, {kFlagsOfClone, CLONE_THREAD, CLONE_THREAD});
  // Signals to other processes of the same user would need no privilege.
  allow(SYS_tgkill, {0, kWholeArgument, number(::getpid())});
  allow(SYS_prlimit64, {2, kWholeArgument, 0});  // only reads limits
  allow(SYS_ioctl, {1, kWholeArgument, number(FUSE_DEV_IOC_CLONE)});
  allow(SYS_prctl, {0, kWholeArgument, PR_SET_NAME});
  for (const std::uint64_t command : kDescriptorCommands) allow(SYS_fcntl, {1, kIntArgument, command});
  // The arguments of clone3 are in memory, which a filter cannot read. On ENOSYS the C library falls back to clone.
  filter.add(SYS_clone3, CallAction::kMissing);
}

// Flags of open(2) that truncate or create files. Landlock before version 3 does not restrict O_TRUNC, not even of a
// file that is opened for reading.
void allow_opening(CallFilter& filter, bool saves) {
  const std::uint64_t refused = number(O_TRUNC) | (saves ? 0 : number(O_CREAT));
#ifdef SYS_open
  filter.add(SYS_open, CallAction::kAllow, CallArgument{1, refused, 0});
#endif
  filter.add(SYS_openat, CallAction::kAllow, CallArgument{2, refused, 0});
}

std::optional<std::string> begin(const CallFilter& filter, std::string_view what,
                                 CallFilter::Threads threads = CallFilter::Threads::kCalling) {
  const int error = filter.begin(threads);
  if (error == 0) return std::nullopt;
  return fmt::format("{}: {}", what, std::strerror(error));
}

// Makes every system call that the daemon does not need fail with EPERM. Returns the reason if that failed, or nullopt.
std::optional<std::string> keep_system_calls(const AllowedPaths& within, long landlock_version) {
  CallFilter filter(CallAction::kRefuse);
  const bool saves = !within.saved.empty();
  allow_each(filter, kAllowed);
  allow_in_part(filter, within.loads_code);
  allow_opening(filter, saves);
  if (saves) allow_each(filter, kAllowedToSave);
  if (within.watches) allow_each(filter, kAllowedToWatch);
  // The flags of openat2 are in memory, which a filter cannot read. On ENOSYS callers fall back to openat.
  const bool needs_flags = landlock_version < landlock::kVersionWithTruncate;
  filter.add(SYS_openat2, needs_flags ? CallAction::kMissing : CallAction::kAllow);
  return begin(filter, "system calls");
}

// Adds a filter to that of keep_system_calls(), for all threads.
std::optional<std::string> refuse_executable_memory() {
  CallFilter filter(CallAction::kAllow);
  for (const long call : {SYS_mmap, SYS_mprotect})
    filter.add(call, CallAction::kRefuse, CallArgument{2, PROT_EXEC, PROT_EXEC});
  filter.add(SYS_seccomp, CallAction::kRefuse);
  return begin(filter, "executable memory", CallFilter::Threads::kAll);
}

// As keep_system_calls(), for a process that waits for a byte, answers, unmounts, removes a directory, and opens the
// log.
std::optional<std::string> keep_system_calls_of_unmount_guard() {
  CallFilter filter(CallAction::kRefuse);
  allow_each(filter, kAllowedToUnmountGuard);
  allow_sending(filter);
  return begin(filter, "system calls");
}

bool opens_libraries = false;  // since confine()

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
  opens_libraries = within.loads_code;
  const long version = landlock::version();
  const unsigned kept = (within.reads_all_owners ? 1u << CAP_DAC_READ_SEARCH : 0u) |
                        (within.saves_for_all_owners ? 1u << CAP_DAC_OVERRIDE : 0u);
  return failures_of({forbid_new_privileges(), give_up_capabilities(kept), keep_files(within, version),
                      keep_system_calls(within, version)});
}

std::vector<std::string> stop_reading_all_owners() { return failures_of({give_up_capabilities(0)}); }

std::vector<std::string> stop_loading_code() {
  if (!opens_libraries) return {};
  return failures_of({refuse_executable_memory()});
}

std::vector<std::string> confine_unmount_guard() {
  if ((own_capabilities() & 1u << CAP_SYS_ADMIN) == 0) return {};
  return failures_of({forbid_new_privileges(), give_up_capabilities(kCapabilitiesOfUnmountGuard),
                      keep_system_calls_of_unmount_guard()});
}

}  // namespace recordfs
