#include "fusefs/tree/mirror/rooted_dir.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "core/base/filesystem.h"
#include "core/base/request_context.h"

namespace recordfs {
namespace {

constexpr int kTries = 8;  // if directories above are being renamed
constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

bool is_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// Opens a path without crossing into another mount. Sets errno to EXDEV if there is one on the path.
Descriptor open_inside(int directory, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  for (int tries = 0;; ++tries) {
    const long opened = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how));
    if (opened >= 0 || errno != EAGAIN || tries == kTries) return Descriptor(static_cast<int>(opened));
  }
}

// Returns whether an error of open_inside() does not concern the path itself. Causes are a mount on the path, a kernel
// or sandbox without openat2, or a path that is too long for one call.
bool needs_steps(int error_number) {
  return error_number == EXDEV || error_number == ENOSYS || error_number == EPERM || error_number == ENAMETOOLONG ||
         error_number == EAGAIN;
}

Result<Looked> looked(Descriptor descriptor) {
  struct stat st {};
  if (::fstat(descriptor.number(), &st) != 0) return place_error(errno);
  return Looked{std::move(descriptor), FileState::of(st)};
}

// Returns the device of an open file without asking its filesystem.
Result<std::uint64_t> device_of(const Descriptor& descriptor) {
  struct statx shown {};
  if (::statx(descriptor.number(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &shown) != 0) return place_error(errno);
  return makedev(shown.stx_dev_major, shown.stx_dev_minor);
}

}  // namespace

Result<std::shared_ptr<const RootedDir>> RootedDir::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return place_error(errno);
  ASSIGN_OR_RETURN(auto directory, looked(std::move(descriptor)));
  return std::shared_ptr<const RootedDir>(new RootedDir(path, std::move(directory)));
}

RootedDir::RootedDir(std::string name, Looked directory)
    : name_(std::move(name)),
      directory_(std::move(directory)),
      filesystem_(filesystem_that_may_hang(directory_.descriptor.number(), directory_.state.device)) {}

Result<void> RootedDir::may_ask(std::uint64_t device) const {
  return RequestContext::permit_wait_for(filesystem(device));
}

Result<Looked> RootedDir::look(const std::string& path) const {
  TRY(may_ask(directory_.state.device));
  const int top = directory_.descriptor.number();
  if (path.empty()) {
    Descriptor again(::openat(top, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!again) return place_error(errno);
    return looked(std::move(again));
  }
  if (Descriptor found = open_inside(top, path)) return looked(std::move(found));
  if (!needs_steps(errno)) return place_error(errno);
  auto at = look("");
  for (std::size_t begin = 0; at && begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    at = look_in(*at, path.substr(begin, end - begin));
    begin = end + 1;
  }
  return at;
}

Result<Looked> RootedDir::look_in(const Looked& directory, const std::string& name) const {
  if (directory.is_recordfs || !is_name(name)) return place_error(ENOENT);
  TRY(may_ask(directory.state.device));
  const int above = directory.descriptor.number();
  if (Descriptor found = open_inside(above, name)) return looked(std::move(found));
  if (!needs_steps(errno)) return place_error(errno);
  Descriptor found(::openat(above, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!found) return place_error(errno);
  ASSIGN_OR_RETURN(const auto device, device_of(found));
  if (device != directory.state.device && recordfs_mounts_.contains(device)) {
    return Looked{std::move(found), {.device = device}, true};
  }
  TRY(may_ask(device));
  return looked(std::move(found));
}

Result<Descriptor> RootedDir::open_directory(const Looked& directory) {
  if (directory.is_recordfs) return place_error(ENOENT);
  Descriptor opened(::openat(directory.descriptor.number(), ".", kReading | O_DIRECTORY));
  if (!opened) return place_error(errno);
  return opened;
}

Result<Descriptor> RootedDir::open_file(const std::string& path, std::uint64_t device) const {
  const std::size_t slash = path.rfind('/');
  ASSIGN_OR_RETURN(const auto directory, look(slash == std::string::npos ? "" : path.substr(0, slash)));
  if (directory.is_recordfs) return place_error(ENOENT);
  TRY(may_ask(device));
  return open_file_in(directory.descriptor.number(), path.substr(slash + 1));
}

Result<Descriptor> RootedDir::open_file_in(int directory, const std::string& name) {
  Descriptor opened(::openat(directory, name.c_str(), kReading));
  if (!opened) return place_error(errno);
  struct stat st {};
  if (::fstat(opened.number(), &st) != 0) return place_error(errno);
  if (!S_ISREG(st.st_mode)) return place_error(ENOENT);
  return opened;
}

Result<std::string> RootedDir::target(const Looked& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlinkat(link.descriptor.number(), "", text.data(), text.size());
  if (length < 0) return place_error(errno);
  return std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace recordfs
