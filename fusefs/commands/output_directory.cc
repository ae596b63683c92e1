#include "fusefs/commands/output_directory.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::size_t kMostOfDirectoryName = 200;  // bytes, so that the hidden name is not too long

// Renames a directory. Returns false and sets errno on failure: EEXIST if the name is taken. On filesystems without
// RENAME_NOREPLACE, as NFS, a directory that has the name is replaced if it is empty.
bool publish_directory(const std::string& unfinished, const std::string& path) {
  if (::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::rename(unfinished.c_str(), path.c_str()) == 0;
}

// Waits for a packet, publishes then, and answers with the errno. Removes the directory if no packet comes.
void serve_directory(int line, const std::string& unfinished, const std::string& path) {
  char wanted = 0;
  ssize_t got = 0;
  do {
    got = ::recv(line, &wanted, 1, 0);
  } while (got < 0 && errno == EINTR);
  int outcome = EPIPE;
  if (got == 1) outcome = publish_directory(unfinished, path) ? 0 : errno;
  if (outcome != 0) {
    std::error_code failed;
    std::filesystem::remove_all(unfinished, failed);
  }
  static_cast<void>(::send(line, &outcome, sizeof(outcome), MSG_NOSIGNAL));
}

}  // namespace

Result<std::unique_ptr<OutputDirectory>> OutputDirectory::create(const std::string& path) {
  std::filesystem::path target(path);
  if (!target.has_filename()) target = target.parent_path();  // a slash at the end
  struct stat st {};
  if (::lstat(target.c_str(), &st) == 0) return system_error(EEXIST);
  const std::string name =
      fmt::format(".{}.{}.recordfs", target.filename().string().substr(0, kMostOfDirectoryName), ::getpid());
  const std::string unfinished = (target.parent_path() / name).string();
  if (::mkdir(unfinished.c_str(), 0777) != 0) return system_error(errno);
  HelperProcess helper("recordfs-writer", {}, [&](int line) { serve_directory(line, unfinished, target.string()); });
  if (!helper.is_there()) {
    ::rmdir(unfinished.c_str());
    return system_error(EAGAIN);
  }
  return std::make_unique<OutputDirectory>(unfinished, std::move(helper));
}

Result<void> OutputDirectory::publish() const {
  const char wanted = 1;
  int outcome = EPIPE;
  if (::send(helper_.line().number(), &wanted, 1, MSG_NOSIGNAL) == 1) {
    ssize_t got = 0;
    do {
      got = ::recv(helper_.line().number(), &outcome, sizeof(outcome), 0);
    } while (got < 0 && errno == EINTR);
    if (got != sizeof(outcome)) outcome = EPIPE;
  }
  if (outcome == 0) return {};
  return system_error(outcome);
}

}  // namespace recordfs
