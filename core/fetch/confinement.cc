#include "core/fetch/confinement.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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

constexpr int kRefused[] = {
    // programs, child processes, and other processes
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(ptrace), SCMP_SYS(kill),
    SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal), SCMP_SYS(kcmp), SCMP_SYS(process_madvise),
    // servers
    SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4),
    // what would bypass this filter or Landlock, and parts of the kernel that the fetcher does not need
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(open_by_handle_at), SCMP_SYS(setxattr), SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr), SCMP_SYS(chmod), SCMP_SYS(fchmodat), SCMP_SYS(chown),
    SCMP_SYS(lchown), SCMP_SYS(fchownat), SCMP_SYS(truncate), SCMP_SYS(init_module), SCMP_SYS(finit_module),
    SCMP_SYS(delete_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon)};

struct ReleaseFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};

constexpr bool is_needed_family(int family) {
  return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

void keep_system_calls() {
  const std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, ReleaseFilter> owner(::seccomp_init(SCMP_ACT_ALLOW));
  const scmp_filter_ctx filter = owner.get();
  if (filter == nullptr) return;
  constexpr std::uint32_t kDenied = SCMP_ACT_ERRNO(EPERM);
  int outcome = ::seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, kDenied);
  for (const int call : kRefused) {
    if (call >= 0) outcome |= ::seccomp_rule_add(filter, kDenied, call, 0);
  }
  // The resolver has threads.
  const scmp_arg_cmp process = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);
  outcome |= ::seccomp_rule_add(filter, kDenied, SCMP_SYS(clone), 1, process);
  // The arguments of clone3 are in memory, which a filter cannot read. On ENOSYS the C library falls back to clone.
  outcome |= ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  for (int family = 0; family <= AF_NETLINK; ++family) {
    if (is_needed_family(family)) continue;
    const scmp_arg_cmp is_this = SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family), 0);
    outcome |= ::seccomp_rule_add(filter, kDenied, SCMP_SYS(socket), 1, is_this);
  }
  const scmp_arg_cmp later = SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0);
  outcome |= ::seccomp_rule_add(filter, kDenied, SCMP_SYS(socket), 1, later);
  if (outcome == 0) ::seccomp_load(filter);
}

}  // namespace

void confine(int cache) {
  if (!confines_threads() || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  keep_capabilities(0);
  keep_files(cache);
  keep_system_calls();
}

}  // namespace recordfs::fetch
