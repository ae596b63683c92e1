#include "core/output/output_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "core/base/write_all.h"
#include "core/output/publish_file.h"

namespace recordfs {
namespace {

constexpr std::size_t kGathered = 1u << 20;  // bytes
constexpr std::size_t kDirect = 64u << 10;   // bytes of a piece that is faster to write than to copy

// So that the hidden name is not too long.
constexpr std::size_t kMostOfName = 200;  // bytes

}  // namespace

std::string hidden_name(const std::string& name) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) number = static_cast<std::uint64_t>(::getpid());
  return fmt::format(".{}.{:016x}.recordfs", name.substr(0, kMostOfName), number);
}

OutputFile::OutputFile(Descriptor directory, std::string name, Options options)
    : directory_(std::move(directory)), name_(std::move(name)), unfinished_(hidden_name(name_)), options_(options) {}

Result<void> OutputFile::create() {
  const int at = directory_.number();
  struct stat st {};
  const bool is_taken = ::fstatat(at, name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_taken && !options_.replaces) return system_error(EEXIST);
  if (is_taken && S_ISDIR(st.st_mode)) return system_error(EISDIR);
  if (is_taken && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
    return Error{.code = Code::kIo, .detail = "not a regular file, so it is not replaced", .os_error = ENOTSUP};
  }
  ::signal(SIGXFSZ, SIG_IGN);
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  file_ = Descriptor(::openat(at, unfinished_.c_str(), flags, options_.mode));
  is_there_ = static_cast<bool>(file_);
  if (!file_) return system_error(errno);
  return {};
}

OutputFile::~OutputFile() {
  if (is_there_) ::unlinkat(directory_.number(), unfinished_.c_str(), 0);
}

Result<void> OutputFile::write(Bytes bytes) {
  size_ += bytes.size();
  const bool is_direct = bytes.size() >= kDirect;
  if (is_direct || bytes.size() > kGathered - gathered_) TRY(flush());
  if (is_direct) return write_through(bytes);
  if (buffer_.empty()) {
    ASSIGN_OR_RETURN(buffer_, Buffer::allocate({}, kGathered));
  }
  copy_bytes(bytes, buffer_.span().subspan(gathered_));
  gathered_ += bytes.size();
  return {};
}

Result<void> OutputFile::rewrite(Position begin, Bytes bytes) {
  TRY(flush());
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno);
    begin += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> OutputFile::flush() { return write_through(buffer_.view().first(std::exchange(gathered_, 0))); }

Result<void> OutputFile::write_through(Bytes bytes) {
  const int error = write_all(file_.number(), bytes);
  if (error == 0) return {};
  return system_error(error);
}

Result<Descriptor> OutputFile::reopened() const {
  Descriptor again(::openat(directory_.number(), unfinished_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!again) return system_error(errno);
  return again;
}

Result<void> OutputFile::complete() {
  TRY(flush());
  // Some filesystems cannot sync. Others report a full disk only here.
  if (::fsync(file_.number()) != 0 && errno != EINVAL) return system_error(errno);
  if (::close(file_.release()) != 0) return system_error(errno);
  return {};
}

Result<void> OutputFile::publish() {
  if (file_) TRY(complete());
  struct stat st {};
  const int at = directory_.number();
  const bool is_taken = ::fstatat(at, name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (!publish_file(at, unfinished_, name_, options_.replaces)) return system_error(errno);
  is_there_ = false;
  can_withdraw_ = !is_taken;
  static_cast<void>(::fsync(at));
  return {};
}

Result<void> OutputFile::publish_as(std::string name) {
  name_ = std::move(name);
  return publish();
}

void OutputFile::withdraw() {
  if (std::exchange(can_withdraw_, false)) ::unlinkat(directory_.number(), name_.c_str(), 0);
}

}  // namespace recordfs
