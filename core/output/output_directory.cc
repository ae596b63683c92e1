#include "core/output/output_directory.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "core/output/output_file.h"
#include "core/output/subdirectories.h"

namespace recordfs {
namespace {

// Renames a directory. Returns false and sets errno on failure: EEXIST if the name is taken. On filesystems without
// RENAME_NOREPLACE, as NFS, a directory that has the name is replaced if it is empty.
bool publish_directory(const std::string& unfinished, const std::string& path) {
  if (::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::rename(unfinished.c_str(), path.c_str()) == 0;
}

// Sends an errno; 0: success.
void answer(int line, int outcome) { static_cast<void>(::send(line, &outcome, sizeof(outcome), MSG_NOSIGNAL)); }

// Returns the errno that answer() sent; EPIPE if the process has ended.
int receive_answer(int line) {
  int outcome = EPIPE;
  ssize_t got = 0;
  do {
    got = ::recv(line, &outcome, sizeof(outcome), 0);
  } while (got < 0 && errno == EINTR);
  return got == sizeof(outcome) ? outcome : EPIPE;
}

// Makes the directory, and answers with the errno. Waits for a packet, publishes then, and answers with the errno.
// Removes the directory if no packet comes. The process that is killed is the other one, so nothing is left.
void serve_directory(int line, const std::string& unfinished, const std::string& path) {
  const int made = ::mkdir(unfinished.c_str(), 0777) == 0 ? 0 : errno;
  answer(line, made);
  if (made != 0) return;
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
  answer(line, outcome);
}

}  // namespace

Result<std::unique_ptr<OutputDirectory>> OutputDirectory::create(const std::string& path) {
  std::filesystem::path target(path);
  if (!target.has_filename()) target = target.parent_path();  // a slash at the end
  struct stat st {};
  if (::lstat(target.c_str(), &st) == 0) return system_error(EEXIST);
  const std::string above = target.has_parent_path() ? target.parent_path().string() : ".";
  if (::stat(above.c_str(), &st) != 0 && errno == ENOENT) return no_directory(above + "/");
  const std::string unfinished = (target.parent_path() / hidden_name(target.filename().string())).string();
  HelperProcess helper("recordfs-writer", {}, [&](int line) { serve_directory(line, unfinished, target.string()); });
  if (!helper.is_there()) return system_error(EAGAIN);
  if (const int made = receive_answer(helper.line().number()); made != 0) return system_error(made);
  return std::make_unique<OutputDirectory>(unfinished, std::move(helper));
}

Result<void> OutputDirectory::publish() const {
  const char wanted = 1;
  const bool is_sent = ::send(helper_.line().number(), &wanted, 1, MSG_NOSIGNAL) == 1;
  const int outcome = is_sent ? receive_answer(helper_.line().number()) : EPIPE;
  if (outcome == 0) return {};
  return system_error(outcome);
}

}  // namespace recordfs
