#include "core/output/file_linker.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/output/output_file.h"
#include "core/output/publish_file.h"
#include "core/output/subdirectories.h"

namespace recordfs {
namespace {

// Shows whether a file is the one that was read.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  // of the last change of its content

  static FileIdentity of(const struct stat& status) {
    return {.device = status.st_dev,
            .inode = status.st_ino,
            .size = static_cast<std::uint64_t>(status.st_size),
            .seconds = status.st_mtim.tv_sec,
            .nanoseconds = status.st_mtim.tv_nsec};
  }
  bool operator==(const FileIdentity&) const = default;
};

// A request is a FileIdentity, the path, a zero byte and the path in the directory; the answer is an errno.
constexpr std::size_t kMostOfRequest = sizeof(FileIdentity) + PATH_MAX + 1 + PATH_MAX;

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// `target`: the path in `top`. Returns an errno; 0: success. The process that sends the target may be taken over.
int link_file(int top, const FileIdentity& identity, const std::string& path, const std::string& target,
              bool replaces) {
  const auto opened = open_directory_of(top, target, nullptr);
  if (!opened) return opened.error().os_error;
  const int directory = opened->number();
  const std::string name = target.substr(target.rfind('/') + 1);
  const std::string hidden = hidden_name(name);
  if (::linkat(AT_FDCWD, path.c_str(), directory, hidden.c_str(), AT_SYMLINK_FOLLOW) != 0) return errno;
  struct stat status {};
  int failed = ::fstatat(directory, hidden.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
  if (failed == 0 && FileIdentity::of(status) != identity) failed = ESTALE;
  struct stat existing {};
  // rename(2) would leave both names of one file.
  const bool is_linked =
      ::fstatat(directory, name.c_str(), &existing, AT_SYMLINK_NOFOLLOW) == 0 && is_same_file(existing, status);
  if (failed == 0 && !is_linked) {
    if (publish_file(directory, hidden, name, replaces)) return 0;
    failed = errno;
  }
  ::unlinkat(directory, hidden.c_str(), 0);
  return failed;
}

void serve_links(int line, int directory, bool replaces) {
  std::array<char, kMostOfRequest> request{};
  for (;;) {
    const ssize_t got = ::recv(line, request.data(), request.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < static_cast<ssize_t>(sizeof(FileIdentity))) return;
    FileIdentity identity;
    std::memcpy(&identity, request.data(), sizeof(identity));
    const std::string_view names(request.data() + sizeof(identity), static_cast<std::size_t>(got) - sizeof(identity));
    const std::size_t end = names.find('\0');
    int outcome = EINVAL;
    if (end != std::string_view::npos) {
      outcome = link_file(directory, identity, std::string(names.substr(0, end)), std::string(names.substr(end + 1)),
                          replaces);
    }
    if (::send(line, &outcome, sizeof(outcome), MSG_NOSIGNAL) < 0) return;
  }
}

}  // namespace

Result<FileLinker> FileLinker::into(const Descriptor& directory, bool replaces) {
  const int number = directory.number();
  HelperProcess helper("recordfs-linker", {number}, [&](int line) { serve_links(line, number, replaces); });
  if (!helper.is_there()) return system_error(EAGAIN);
  return FileLinker(std::move(helper));
}

Result<void> FileLinker::link(const std::string& path, const struct stat& status, const std::string& name) const {
  const FileIdentity identity = FileIdentity::of(status);
  std::string request(sizeof(identity), '\0');
  std::memcpy(request.data(), &identity, sizeof(identity));
  request += path + '\0' + name;
  if (request.size() > kMostOfRequest) return system_error(ENAMETOOLONG);
  const int line = helper_.line().number();
  int outcome = EPIPE;
  ssize_t got = ::send(line, request.data(), request.size(), MSG_NOSIGNAL);
  while (got >= 0 && (got = ::recv(line, &outcome, sizeof(outcome), 0)) < 0 && errno == EINTR) got = 0;
  if (got != sizeof(outcome)) outcome = EPIPE;
  if (outcome == ESTALE) return Error{.code = Code::kChanged, .detail = "the file has changed since it was read"};
  if (outcome != 0) return system_error(outcome);
  return {};
}

}  // namespace recordfs
