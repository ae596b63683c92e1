#include "core/output/replace_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/descriptor.h"
#include "core/base/write_all.h"
#include "core/output/subdirectories.h"

namespace recordfs {
namespace {

constexpr mode_t kPermissionBits = 07777;

Result<void> outcome_of(int error) {
  if (error == 0) return {};
  return system_error(error);
}

mode_t without_umask(mode_t mode) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mode & ~mask;
}

// Some file systems cannot sync.
int write_durably(int file, std::string_view content) {
  if (const int failed = write_all(file, as_bytes(content)); failed != 0) return failed;
  return ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
}

int write_in_place(const std::string& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  return file ? write_all(file.number(), as_bytes(content)) : errno;
}

// Returns the path to which a link leads, whether something is there or not.
std::filesystem::path followed(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::error_code failed;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, failed); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  }
  return path;
}

// Fails if no file can be created in the directory of a path.
Result<void> check_directory_of(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) directory = ".";
  if (::access(directory.c_str(), W_OK | X_OK) == 0) return {};
  if (errno == ENOENT) return no_directory(directory + "/");
  return system_error(errno);
}

// Returns false if the file must be written in place.
bool keeps_owner(int file, const struct stat& before) {
  struct stat st {};
  if (::fstat(file, &st) != 0) return false;
  const bool is_same = st.st_uid == before.st_uid && st.st_gid == before.st_gid;
  return is_same || ::fchown(file, before.st_uid, before.st_gid) == 0;
}

// --- between a process and the one that writes for it: the size of a content, its pieces, and the outcome

constexpr std::uint64_t kMostContent = 4ull << 30;
constexpr std::size_t kPacket = 64u << 10;

// Returns false if nothing more comes. The system keeps packets whole.
bool receive(int line, void* out, std::size_t size) {
  for (;;) {
    const ssize_t got = ::recv(line, out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    return got >= 0 && static_cast<std::size_t>(got) == size;
  }
}

bool send(int line, const void* bytes, std::size_t size) {
  for (;;) {
    const ssize_t sent = ::send(line, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    return sent >= 0;
  }
}

// Memory grows with the bytes that come.
bool receive_content(int line, std::string& content) {
  std::uint64_t size = 0;
  if (!receive(line, &size, sizeof(size)) || size > kMostContent) return false;
  content.clear();
  while (content.size() < size) {
    const std::size_t at = content.size();
    content.resize(at + std::min<std::uint64_t>(kPacket, size - at));
    if (!receive(line, content.data() + at, content.size() - at)) return false;
  }
  return true;
}

void serve(int line, const std::string& path, mode_t mode) {
  std::string content;
  while (receive_content(line, content)) {
    const auto replaced = replace_file(path, content, mode);
    const int outcome = replaced ? 0 : replaced.error().os_error;
    if (!send(line, &outcome, sizeof(outcome))) return;
  }
}

}  // namespace

Result<ReplacedFile> ReplacedFile::at(const std::string& path, mode_t mode) {
  struct stat st {};
  const bool exists = ::stat(path.c_str(), &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) {
    Descriptor opened(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!opened) return system_error(errno);
    return ReplacedFile(std::move(opened));
  }
  // The path may lead through this process's own descriptors.
  const std::string target = followed(path).string();
  if (!exists) TRY(check_directory_of(target));
  HelperProcess writer("recordfs-writer", {}, [&](int line) { serve(line, target, mode); });
  if (!writer.is_there()) return system_error(EAGAIN);
  return ReplacedFile(std::move(writer));
}

Result<void> ReplacedFile::write(std::string_view content) const {
  if (opened_) return outcome_of(write_all(opened_.number(), as_bytes(content)));
  if (content.size() > kMostContent) return system_error(EFBIG);
  const int line = writer_.line().number();
  const std::uint64_t size = content.size();
  bool is_there = send(line, &size, sizeof(size));
  for (; is_there && !content.empty(); content.remove_prefix(std::min(kPacket, content.size()))) {
    is_there = send(line, content.data(), std::min(kPacket, content.size()));
  }
  int outcome = EPIPE;
  if (is_there && !receive(line, &outcome, sizeof(outcome))) outcome = EPIPE;
  return outcome_of(outcome);
}

Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode) {
  struct stat st {};
  const bool exists = ::stat(path.c_str(), &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) return outcome_of(write_in_place(path, content));
  const std::string target = followed(path).string();
  std::string unfinished = target + ".XXXXXX";
  const Descriptor file(::mkostemp(unfinished.data(), O_CLOEXEC));
  if (!file && (!exists || errno == ENOSPC)) return system_error(errno);
  if (!file) return outcome_of(write_in_place(path, content));
  if (exists && !keeps_owner(file.number(), st)) {
    ::unlink(unfinished.c_str());
    return outcome_of(write_in_place(path, content));
  }
  int failed = write_durably(file.number(), content);
  const mode_t wanted = exists ? st.st_mode & kPermissionBits : without_umask(mode);
  if (failed == 0 && ::fchmod(file.number(), wanted) != 0) failed = errno;
  if (failed == 0 && ::rename(unfinished.c_str(), target.c_str()) != 0) failed = errno;
  if (failed != 0) ::unlink(unfinished.c_str());
  return outcome_of(failed);
}

}  // namespace recordfs
