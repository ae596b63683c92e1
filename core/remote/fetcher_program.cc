#include "core/remote/fetcher_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/base/own_files.h"
#include "core/remote/protocol.h"

namespace recordfs::remote {
namespace {

constexpr std::string_view kName = "recordfs-fetch";
constexpr int kFirstFree = 10;  // above the descriptors that the program gets

Result<std::string> find_program() {
  if (const char* const named = ::secure_getenv("RECORDFS_FETCH"); named != nullptr && *named != '\0') {
    return std::string(named);
  }
  if (std::string path = find_own_file(kName); !path.empty()) return path;
  if (::access(RECORDFS_FETCH_INSTALLED, X_OK) == 0) return std::string(RECORDFS_FETCH_INSTALLED);
  return Error{.code = Code::kIo, .detail = "cannot read URLs: recordfs-fetch is not installed", .os_error = ENOENT};
}

// What posix_spawn(3) does in the new process.
class Preparation {
 public:
  Preparation(int socket, int arena) {
    ::posix_spawn_file_actions_init(&actions_);
    for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) {
      ::posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
    }
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kSocketDescriptor);
    ::posix_spawn_file_actions_adddup2(&actions_, arena, kArenaDescriptor);
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    // In a session of its own, Ctrl-C does not end it.
    constexpr int kFlags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(kFlags));
  }
  ~Preparation() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<FetcherProcess> start_fetcher(int arena, const std::vector<std::string>& options) {
  ASSIGN_OR_RETURN(const auto path, find_program());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    Error why = system_error(errno);
    why.detail.insert(0, "cannot start recordfs-fetch: ");
    return why;
  }
  FetcherProcess process{.socket = Descriptor(ends[0])};
  const Descriptor theirs(ends[1]);
  const Descriptor socket(::fcntl(theirs.number(), F_DUPFD_CLOEXEC, kFirstFree));
  const Descriptor memory(::fcntl(arena, F_DUPFD_CLOEXEC, kFirstFree));
  if (!socket || !memory) return system_error(errno);
  const Preparation preparation(socket.number(), memory.number());
  std::vector<std::string> words{std::string(kName)};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed = ::posix_spawn(&process.id, path.c_str(), preparation.actions(), preparation.attributes(),
                                   arguments.data(), environ);
  if (failed == 0) return process;
  Error why = system_error(failed);
  why.detail = "cannot start " + path + ": " + why.detail;
  return why;
}

bool has_fetcher() { return find_program().has_value(); }

}  // namespace recordfs::remote
