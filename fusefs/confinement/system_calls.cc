#include "fusefs/confinement/system_calls.h"

#include <linux/fuse.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include <fmt/format.h>

namespace recordfs {
namespace {

// Grouped by purpose. Calls that the processor architecture lacks are skipped.
constexpr int kAllowed[] = {
    // reading sources, /dev/fuse and the unmount guard; replying
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(preadv2), SCMP_SYS(write),
    SCMP_SYS(writev), SCMP_SYS(splice), SCMP_SYS(vmsplice), SCMP_SYS(tee), SCMP_SYS(pipe2), SCMP_SYS(lseek),
    SCMP_SYS(fadvise64), SCMP_SYS(readahead), SCMP_SYS(recvfrom),
    // accessible files, and the directory of saved indexes
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(fcntl),
    SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat),
    SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat), SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
    SCMP_SYS(ftruncate), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(umask), SCMP_SYS(inotify_init1),
    SCMP_SYS(inotify_add_watch), SCMP_SYS(inotify_rm_watch),
    // waiting
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2), SCMP_SYS(futex), SCMP_SYS(nanosleep),
    SCMP_SYS(clock_nanosleep), SCMP_SYS(wait4), SCMP_SYS(restart_syscall),
    // memory
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mincore),
    // threads, signals, exit
    SCMP_SYS(set_robust_list), SCMP_SYS(get_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address), SCMP_SYS(gettid),
    SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler), SCMP_SYS(membarrier),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigsuspend),
    SCMP_SYS(rt_sigtimedwait), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group),
    // clocks, identity
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom),
    SCMP_SYS(getcpu), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getrusage), SCMP_SYS(getuid), SCMP_SYS(geteuid),
    SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getrlimit), SCMP_SYS(arch_prctl)};

// For a process that waits, answers and unmounts.
constexpr int kAllowedToUnmountGuard[] = {
    SCMP_SYS(read), SCMP_SYS(statx),        SCMP_SYS(umount2),    SCMP_SYS(rmdir),          SCMP_SYS(unlinkat),
    SCMP_SYS(brk),  SCMP_SYS(munmap),       SCMP_SYS(futex),      SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction),
    SCMP_SYS(exit), SCMP_SYS(rt_sigreturn), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall)};

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
int allow_in_part(scmp_filter_ctx filter) {
  // Memory cannot become executable after this.
  const scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, number(PROT_EXEC), 0);
  const scmp_arg_cmp thread = SCMP_A0(SCMP_CMP_MASKED_EQ, number(CLONE_THREAD), number(CLONE_THREAD));
  // Signals to other processes of the same user would need no privilege.
  const scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, number(::getpid()), 0);
  const scmp_arg_cmp asks_for_limits = SCMP_A2(SCMP_CMP_EQ, 0, 0);
  const scmp_arg_cmp clones_device = SCMP_A1(SCMP_CMP_EQ, number(FUSE_DEV_IOC_CLONE), 0);
  const scmp_arg_cmp names_thread = SCMP_A0(SCMP_CMP_EQ, number(PR_SET_NAME), 0);
  int outcome = allow_sending(filter);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, not_executable);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_executable);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, thread);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, itself);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, asks_for_limits);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, clones_device);
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, names_thread);
  // The arguments of clone3 are in memory, which a filter cannot read. On ENOSYS the C library falls back to clone.
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  return outcome;
}

std::optional<std::string> keep(std::span<const int> allowed, int (*allow_more)(scmp_filter_ctx)) {
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (!filter) return "system calls: no memory for the filter";
  // Otherwise system calls of the processor's other architectures would kill the process.
  int outcome = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
  // A binary tree instead of a list: every read and every reply passes the filter.
  outcome |= ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const int call : allowed) {
    if (call >= 0) outcome |= ::seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0);
  }
  outcome |= allow_more(filter.get());
  if (outcome == 0) outcome = ::seccomp_load(filter.get());
  if (outcome == 0) return std::nullopt;
  return fmt::format("system calls: {}", std::strerror(outcome < 0 ? -outcome : EINVAL));
}

}  // namespace

std::optional<std::string> keep_system_calls() { return keep(kAllowed, allow_in_part); }

std::optional<std::string> keep_system_calls_of_unmount_guard() { return keep(kAllowedToUnmountGuard, allow_sending); }

}  // namespace recordfs
