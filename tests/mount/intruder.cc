// An intruder in a daemon: loaded into the program, it waits for a read of a source once a file tells it to. It tries
// operations that a daemon does not need, and writes a line for each: its name, and the errno.
//
//   RECORDFS_INTRUDER_TOLD    the file that has to be there
//   RECORDFS_INTRUDER_REPORT  where the lines go
//   RECORDFS_INTRUDER_FOLDER  holds source, index/, beside and nothing that may not be harmed
//   RECORDFS_INTRUDER_HOME    a folder with a file "secret"
//   RECORDFS_INTRUDER_OTHER   id of another process of the same user
//   RECORDFS_INTRUDER_ONLY    if set: only those whose name begins so
//   RECORDFS_INTRUDER_LANDLOCK  if set: the version of Landlock that the kernel seems to have
#include <asm/unistd.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

const std::string told = setting("RECORDFS_INTRUDER_TOLD");
const std::string folder = setting("RECORDFS_INTRUDER_FOLDER");
const std::string home = setting("RECORDFS_INTRUDER_HOME");
const std::string only = setting("RECORDFS_INTRUDER_ONLY");
const long other = std::strtol(setting("RECORDFS_INTRUDER_OTHER").c_str(), nullptr, 10);
const int report = ::open(setting("RECORDFS_INTRUDER_REPORT").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
const std::string landlock = setting("RECORDFS_INTRUDER_LANDLOCK");
std::atomic<bool> is_done{false};

constexpr long kGetVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION

// What `outcome` of a call says. What it has opened is closed.
void tell(const std::string& what, long outcome, bool opens = false) {
  const int error = outcome < 0 ? errno : 0;
  if (opens && outcome >= 0) ::close(static_cast<int>(outcome));
  const std::string line = what + "\t" + std::to_string(error) + "\n";
  if (::write(report, line.data(), line.size()) < 0) std::abort();
}

template <class... Arguments>
void call(const std::string& what, long number, Arguments... arguments) {
  if (what.starts_with(only)) tell(what, ::syscall(number, arguments...));
}

void open_file(const std::string& what, const std::string& path, int flags) {
  if (what.starts_with(only)) tell(what, ::syscall(SYS_openat, AT_FDCWD, path.c_str(), flags | O_CLOEXEC, 0600), true);
}

void read_files() {
  const std::string process = "/proc/" + std::to_string(other);
  open_file("read /etc/passwd", "/etc/passwd", O_RDONLY);
  open_file("read home", home, O_RDONLY | O_DIRECTORY);
  open_file("read home/secret", home + "/secret", O_RDONLY);
  open_file("read beside", folder + "/beside", O_RDONLY);
  open_file("read /", "/", O_RDONLY | O_DIRECTORY);
  for (const char* name : {"/mem", "/maps", "/environ", "/cmdline", "/fd/0"}) {
    open_file(std::string("process ") + name, process + name, O_RDONLY);
  }
  open_file("read own memory", "/proc/self/mem", O_RDWR);
}

void write_files() {
  const std::string source = folder + "/source";
  open_file("write source", source, O_WRONLY);
  open_file("write source anew", source, O_RDONLY | O_TRUNC);
  open_file("write beside", folder + "/beside", O_WRONLY);
  open_file("write new", folder + "/new", O_WRONLY | O_CREAT);
  open_file("write /tmp", folder + "/../new-of-intruder", O_WRONLY | O_CREAT);
  struct {
    unsigned long long flags, mode, resolve;
  } how{O_RDONLY | O_TRUNC, 0, 0};
  call("write source anew by openat2", SYS_openat2, AT_FDCWD, source.c_str(), &how, sizeof(how));
  const int opened = ::open(source.c_str(), O_RDONLY | O_CLOEXEC);
  call("write by ftruncate", SYS_ftruncate, opened, 0);
  call("write beside metrics", SYS_openat, AT_FDCWD, (home + "/new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  open_file("write metrics", home + "/metrics.prom", O_WRONLY);
  call("write unlink metrics", SYS_unlinkat, AT_FDCWD, (home + "/metrics.prom").c_str(), 0);
  open_file("write unnamed", folder, O_WRONLY | O_TMPFILE);
  call("write by truncate", SYS_truncate, source.c_str(), 0);
  call("write unlink", SYS_unlinkat, AT_FDCWD, source.c_str(), 0);
  call("write rename", SYS_renameat2, AT_FDCWD, source.c_str(), AT_FDCWD, (folder + "/moved").c_str(), 0);
  call("write rename to index", SYS_renameat2, AT_FDCWD, source.c_str(), AT_FDCWD, (folder + "/index/x").c_str(), 0);
  call("write link", SYS_linkat, AT_FDCWD, source.c_str(), AT_FDCWD, (folder + "/index/x").c_str(), 0);
  call("write symlink", SYS_symlinkat, "/etc/passwd", AT_FDCWD, (folder + "/index/x").c_str());
  call("write mkdir", SYS_mkdirat, AT_FDCWD, (folder + "/made").c_str(), 0700);
  call("write mknod", SYS_mknodat, AT_FDCWD, (folder + "/made").c_str(), S_IFIFO | 0600, 0);
  call("write device", SYS_mknodat, AT_FDCWD, (folder + "/index/x").c_str(), S_IFCHR | 0600, 0x103);
  call("write chmod", SYS_fchmodat, AT_FDCWD, source.c_str(), 0777);
  call("write chown", SYS_fchownat, AT_FDCWD, source.c_str(), 1, 1, 0);
  call("write xattr", SYS_setxattr, source.c_str(), "user.x", "x", 1, 0);
  call("write times", SYS_utimensat, AT_FDCWD, source.c_str(), nullptr, 0);
}

void start_programs() {
  static const char* const words[] = {"/bin/true", nullptr};
  call("program execve", SYS_execve, "/bin/true", words, nullptr);
  call("program execveat", SYS_execveat, AT_FDCWD, "/bin/true", words, nullptr, 0);
  call("program in memory", SYS_memfd_create, "x", 0);
  call("program fork", SYS_clone, SIGCHLD, 0, 0, 0, 0);
  call("program clone3", SYS_clone3, nullptr, 0);
#ifdef SYS_fork
  call("program fork of old", SYS_fork);
  call("program vfork", SYS_vfork);
#endif
  for (const int space : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET}) {
    call("program in namespace " + std::to_string(space), SYS_clone, space | SIGCHLD, 0, 0, 0, 0);
    call("program unshare " + std::to_string(space), SYS_unshare, space);
  }
  call("program setns", SYS_setns, 0, 0);
  call("program code", SYS_mmap, nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  call("program code later", SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
  call("program code by key", SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1);
}

void connect() {
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK}) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET}) {
      call("connection " + std::to_string(family) + " " + std::to_string(type), SYS_socket, family, type, 0);
    }
  }
  int ends[2];
  call("connection pair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends);
  const sockaddr abstract{AF_UNIX, {0, 'x'}};
  const msghdr message{};
  call("connection message", SYS_sendmsg, 0, &message, 0);
  call("connection messages", SYS_sendmmsg, 0, nullptr, 0, 0);
  call("connection abstract", SYS_connect, 0, &abstract, sizeof(abstract));
  // No socket: what a filter lets pass fails for another reason.
  call("connection datagram", SYS_sendto, 0, "x", 1, MSG_NOSIGNAL, &abstract, sizeof(abstract));
  call("connection bound", SYS_bind, 0, &abstract, sizeof(abstract));
  call("connection listen", SYS_listen, 0, 1);
  call("connection accept", SYS_accept4, 0, nullptr, nullptr, 0);
}

// Returns the end of a pipe, which stays open.
int opened_pipe() {
  static const int end = [] {
    int ends[2] = {-1, -1};
    return ::pipe2(ends, O_CLOEXEC) == 0 ? ends[0] : -1;
  }();
  return end;
}

void reach_processes() {
  static char bytes[16];
  const iovec here{bytes, sizeof(bytes)};
  call("process ptrace", SYS_ptrace, PTRACE_ATTACH, other, nullptr, nullptr);
  call("process seize", SYS_ptrace, PTRACE_SEIZE, other, nullptr, nullptr);
  call("process read", SYS_process_vm_readv, other, &here, 1, &here, 1, 0);
  call("process written", SYS_process_vm_writev, other, &here, 1, &here, 1, 0);
  call("process pidfd", SYS_pidfd_open, other, 0);
  call("process descriptor", SYS_pidfd_getfd, 0, 0, 0);
  call("process signal by pidfd", SYS_pidfd_send_signal, 0, 0, nullptr, 0);
  call("process kill", SYS_kill, other, 0);
  call("process tkill", SYS_tkill, other, 0);
  call("process tgkill", SYS_tgkill, other, other, 0);
  call("process queue", SYS_rt_sigqueueinfo, other, 0, nullptr);
  call("process limits", SYS_prlimit64, other, 7, bytes, nullptr);
  call("process compare", SYS_kcmp, other, other, 0, 0, 0);
  call("process owner", SYS_fcntl, opened_pipe(), F_SETOWN, other);
  const int owner[2] = {1, static_cast<int>(other)};  // F_OWNER_PID
  call("process owner with type", SYS_fcntl, opened_pipe(), F_SETOWN_EX, owner);
  call("process owner's signal", SYS_fcntl, opened_pipe(), F_SETSIG, SIGKILL);
  call("process owner by ioctl", SYS_ioctl, opened_pipe(), 0x8901, &owner[1]);
  call("process lease", SYS_fcntl, opened_pipe(), F_SETLEASE, F_RDLCK);
  call("process affinity", SYS_sched_setaffinity, other, sizeof(bytes), bytes);
  call("process watch", SYS_inotify_init1, 0);
  call("process priority", SYS_setpriority, 0, other, 10);
  call("process advice", SYS_process_madvise, 0, &here, 1, 0, 0);
}

void get_rights() {
  call("right mount", SYS_mount, "none", folder.c_str(), "tmpfs", 0, nullptr);
  call("right bind", SYS_mount, "/etc", (folder + "/index").c_str(), nullptr, 4096, nullptr);
  call("right umount", SYS_umount2, folder.c_str(), 0);
  call("right fsopen", SYS_fsopen, "tmpfs", 0);
  call("right open_tree", SYS_open_tree, AT_FDCWD, "/", 0);
  call("right move_mount", SYS_move_mount, AT_FDCWD, "/", AT_FDCWD, "/", 0);
  call("right chroot", SYS_chroot, "/");
  call("right pivot_root", SYS_pivot_root, "/", "/");
  call("right setuid", SYS_setuid, 1);
  call("right setresuid", SYS_setresuid, 1, 1, 1);
  call("right setgid", SYS_setgid, 1);
  call("right setgroups", SYS_setgroups, 0, nullptr);
  struct {
    unsigned version;
    int pid;
  } header{0x20080522, 0};
  const unsigned all[6] = {~0u, ~0u, 0, ~0u, ~0u, 0};
  call("right capset", SYS_capset, &header, all);
  call("right personality", SYS_personality, 0);
  call("right handle", SYS_name_to_handle_at, AT_FDCWD, "/", nullptr, nullptr, 0);
  call("right by handle", SYS_open_by_handle_at, AT_FDCWD, nullptr, O_RDONLY);
  call("right io_uring", SYS_io_uring_setup, 1, nullptr);
  call("right aio", SYS_io_setup, 1, nullptr);
  call("right userfaultfd", SYS_userfaultfd, 0);
  call("right bpf", SYS_bpf, 0, nullptr, 0);
  call("right perf", SYS_perf_event_open, nullptr, 0, -1, -1, 0);
  call("right keyctl", SYS_keyctl, 0, 0);
  call("right add_key", SYS_add_key, "user", "x", "x", 1, -1);
  call("right module", SYS_finit_module, 0, "", 0);
  call("right kexec", SYS_kexec_load, 0, 0, nullptr, 0);
  call("right reboot", SYS_reboot, 0, 0, 0, nullptr);
  call("right fanotify", SYS_fanotify_init, 0, 0);
  call("right seccomp", SYS_seccomp, 0, 0, nullptr);
  call("right no_new_privs", SYS_prctl, 38, 0, 0, 0, 0);
  call("right dumpable", SYS_prctl, 4, 1, 0, 0, 0);
  call("right terminal", SYS_ioctl, 0, 0x5412, "x");
  call("right shared memory", SYS_shmget, 0, 4096, 0);
  call("right queue", SYS_mq_open, "x", O_RDWR, 0, nullptr);
  call("right name", SYS_sethostname, "x", 1);
  call("right clock", SYS_clock_settime, 0, nullptr);
  call("right log", SYS_syslog, 2, nullptr, 0);
}

void do_the_work() {
  const std::string made = folder + "/index/made";
  const std::string moved = folder + "/index/moved";
  open_file("work source", folder + "/source", O_RDONLY);
  open_file("work save", made, O_WRONLY | O_CREAT | O_EXCL);
  call("work rename", SYS_renameat2, AT_FDCWD, made.c_str(), AT_FDCWD, moved.c_str(), 0);
  open_file("work load", moved, O_RDONLY);
  call("work remove", SYS_unlinkat, AT_FDCWD, moved.c_str(), 0);
  call("work own signal", SYS_tgkill, ::syscall(SYS_getpid), ::syscall(SYS_gettid), 0);
}

void try_all() {
  read_files();
  do_the_work();
  if (only == "read ") return tell("end", 0);
  write_files();
  start_programs();
  connect();
  reach_processes();
  get_rights();
  tell("end", 0);
}

// False for a file in memory, which the process that mounts reads.
bool has_name(int file) {
  struct stat st {};
  return ::fstat(file, &st) == 0 && st.st_nlink > 0;
}

long read_source(int file, void* out, std::size_t size, off_t at) {
  const bool comes = report > 0 && !is_done.load() && has_name(file) && ::access(told.c_str(), F_OK) == 0;
  if (comes && !is_done.exchange(true)) try_all();
  return ::syscall(SYS_pread64, file, out, size, at);
}

}  // namespace

// Both names, since a build may ask for either where an offset has 64 bits.
extern "C" ssize_t pread(int file, void* out, std::size_t size, off_t at) { return read_source(file, out, size, at); }
extern "C" ssize_t pread64(int file, void* out, std::size_t size, off_t at) { return read_source(file, out, size, at); }

// Keeps the report open.
extern "C" int close_range(unsigned first, unsigned last, int flags) {
  const auto kept = static_cast<unsigned>(report);
  if (report < 0 || kept < first || kept > last)
    return static_cast<int>(::syscall(SYS_close_range, first, last, flags));
  if (kept > first) ::syscall(SYS_close_range, first, kept - 1, flags);
  return kept < last ? static_cast<int>(::syscall(SYS_close_range, kept + 1, last, flags)) : 0;
}

// Answers like an older kernel when the program asks for the version of Landlock.
extern "C" long syscall(long number, ...) {
  using Call = long (*)(long, long, long, long, long, long, long);
  static const auto original = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "syscall"));
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  const bool is_asked = number == SYS_landlock_create_ruleset && arguments[2] == kGetVersion && !landlock.empty();
  if (is_asked) return std::strtol(landlock.c_str(), nullptr, 10);
  return original(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
