#include "core/fetch/confinement.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/base/call_filter.h"
#include "core/base/descriptor.h"
#include "core/base/landlock.h"
#include "core/base/sandbox.h"
#include "core/fetch/origin.h"

namespace recordfs::fetch {
namespace {

// --- files (Landlock)

constexpr std::uint64_t kReading = landlock::kReadFile | landlock::kReadDirectory;
constexpr std::uint64_t kCaching =
    kReading | landlock::kWriteFile | landlock::kMakeFile | landlock::kRemoveFile | landlock::kTruncate;

// Libraries that resolve names are opened on first use.
constexpr const char* kReadable[] = {"/usr/lib",
                                     "/usr/lib64",
                                     "/lib",
                                     "/lib64",
                                     "/usr/local/lib",
                                     "/etc/ld.so.cache",
                                     "/etc/ssl/certs",
                                     "/etc/ssl/certs/ca-certificates.crt",
                                     "/etc/ssl/ca-bundle.pem",
                                     "/etc/ssl/cert.pem",
                                     "/etc/ssl/openssl.cnf",
                                     "/etc/pki",
                                     "/usr/share/ca-certificates",
                                     "/usr/local/share/ca-certificates",
                                     "/etc/ca-certificates",
                                     "/etc/resolv.conf",
                                     "/etc/hosts",
                                     "/etc/nsswitch.conf",
                                     "/etc/host.conf",
                                     "/etc/gai.conf",
                                     "/etc/services",
                                     "/etc/protocols",
                                     "/etc/passwd",
                                     "/etc/localtime",
                                     "/usr/share/zoneinfo",
                                     "/run/systemd/resolve",
                                     "/run/resolvconf",
                                     "/run/NetworkManager",
                                     "/run/nscd",
                                     "/dev/urandom"};

std::string value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::vector<std::string> readable_paths() {
  std::vector<std::string> paths(std::begin(kReadable), std::end(kReadable));
  // Whatever changes resolv.conf replaces it, and a rule holds for one file. Root does not need all of this folder.
  if (::geteuid() != 0) paths.emplace_back("/etc");
  for (const char* const name : {"AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "SSL_CERT_DIR"}) {
    paths.push_back(value_of(name));
  }
  const std::string home = value_of("HOME");
  if (!home.empty()) paths.push_back(home + "/.netrc");
  for (std::string& path : files_of_credentials()) {
    // Such files are replaced: tokens in containers through symbolic links in their folder.
    const std::string folder = path.substr(0, path.rfind('/'));
    if (!folder.empty() && folder != home) paths.push_back(folder);
    paths.push_back(std::move(path));
  }
  return paths;
}

void keep_files(int cache) {
  // Later versions have rules for the network, which is free.
  const long version = std::min(landlock::version(), landlock::kVersionWithTruncate);
  if (version < 1) return;
  const auto rules = landlock::Rules::deny(0, version);
  if (!rules) return;
  for (const std::string& path : readable_paths()) {
    if (!path.starts_with('/')) continue;
    rules->allow(Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC)), kReading);
  }
  if (cache >= 0) rules->allow(Descriptor(::fcntl(cache, F_DUPFD_CLOEXEC, 0)), kCaching);
  rules->begin();
}

// --- system calls (seccomp)

constexpr long kRefused[] = {
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown,
#endif
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
    // programs, child processes, and other processes
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_kill, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open,
    SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_kcmp, SYS_process_madvise,
    // servers
    SYS_listen, SYS_accept4,
#ifdef SYS_accept
    SYS_accept,
#endif
    // what would bypass this filter or Landlock, and parts of the kernel that the fetcher does not need
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
    SYS_add_key, SYS_request_key, SYS_keyctl, SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root,
    SYS_chroot, SYS_open_by_handle_at, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr, SYS_fchmodat, SYS_fchownat, SYS_truncate, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_swapon};

void keep_system_calls() {
  CallFilter filter(CallAction::kAllow);
  for (const long call : kRefused) filter.add(call, CallAction::kRefuse);
  // The resolver has threads.
  filter.add(SYS_clone, CallAction::kRefuse, CallArgument{kFlagsOfClone, CLONE_THREAD, 0});
  // The arguments of clone3 are in memory, which a filter cannot read. On ENOSYS the C library falls back to clone.
  filter.add(SYS_clone3, CallAction::kMissing);
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
    filter.add(SYS_socket, CallAction::kAllow, CallArgument{0, kIntArgument, static_cast<std::uint64_t>(family)});
  filter.add(SYS_socket, CallAction::kRefuse);
  filter.begin();
}

}  // namespace

void confine(int cache) {
  if (!confines_threads() || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  keep_capabilities(0);
  keep_files(cache);
  keep_system_calls();
}

}  // namespace recordfs::fetch
