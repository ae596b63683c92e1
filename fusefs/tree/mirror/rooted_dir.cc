#include "fusefs/tree/mirror/rooted_dir.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <sstream>
#include <utility>

#include "core/base/request_context.h"
#include "core/base/source.h"

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

Result<FileHandle> handle_of(Descriptor descriptor) {
  struct stat st {};
  if (::fstat(descriptor.number(), &st) != 0) return place_error(errno);
  return FileHandle{std::move(descriptor), FileState::of(st)};
}

// Returns the device of an open file without asking its filesystem.
Result<std::uint64_t> device_of(const Descriptor& descriptor) {
  struct statx shown {};
  if (::statx(descriptor.number(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &shown) != 0) return place_error(errno);
  return makedev(shown.stx_dev_major, shown.stx_dev_minor);
}

class LocalFile final : public MirroredFile {
 public:
  explicit LocalFile(Descriptor file) : file_(std::move(file)) {}

  Result<FileState> state() const override {
    struct stat st {};
    if (::fstat(file_.number(), &st) != 0) return place_error(errno);
    return FileState::of(st);
  }
  Result<std::size_t> read(const RequestContext&, std::uint64_t at, MutableBytes out) const override {
    return RootedDir::read_file(file_, at, out);
  }
  Result<std::shared_ptr<const Source>> source(std::string name) override {
    ASSIGN_OR_RETURN(auto source, FileSource::of(std::move(file_), std::move(name)));
    return std::shared_ptr<const Source>(std::move(source));
  }

 private:
  Descriptor file_;
};

std::string all_of(int descriptor) {
  std::string text;
  std::array<char, 4096> piece{};
  ::lseek(descriptor, 0, SEEK_SET);
  for (;;) {
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Error place_error(int error_number) {
  const bool is_gone = error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP;
  if (is_gone) return {.code = Code::kNotFound, .detail = "no such name"};
  return {.code = Code::kIo, .detail = std::strerror(error_number), .os_error = error_number};
}

Error stale_error() { return {.code = Code::kIo, .detail = "the file was replaced or modified", .os_error = ESTALE}; }

const RecordfsMounts& RecordfsMounts::of_process() {
  static const auto* const mounts = new RecordfsMounts();  // never destroyed: threads may use it at exit
  return *mounts;
}

RecordfsMounts::RecordfsMounts() : table_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {}

// The kernel reports all changes since the last call at once, and only once.
bool RecordfsMounts::has_changed() const {
  pollfd asked{table_.number(), POLLPRI, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLERR | POLLPRI)) != 0;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw"
void RecordfsMounts::read() const {
  was_read_ = true;
  devices_.clear();
  std::istringstream lines(all_of(table_.number()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos || line.compare(dash + 3, 13, "fuse.recordfs") != 0) continue;
    std::istringstream fields(line);
    std::string id;
    unsigned major = 0;
    unsigned minor = 0;
    char colon = 0;
    if (fields >> id >> id >> major >> colon >> minor && colon == ':') devices_.insert(makedev(major, minor));
  }
}

bool RecordfsMounts::contains(std::uint64_t device) const {
  const std::lock_guard lock(mutex_);
  if (!table_) return true;
  if (has_changed() || !was_read_) read();
  return devices_.contains(device);
}

Result<std::shared_ptr<const RootedDir>> RootedDir::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return place_error(errno);
  ASSIGN_OR_RETURN(auto directory, handle_of(std::move(descriptor)));
  return std::shared_ptr<const RootedDir>(new RootedDir(path, std::move(directory)));
}

RootedDir::RootedDir(std::string name, FileHandle directory)
    : name_(std::move(name)),
      directory_(std::move(directory)),
      filesystem_(filesystem_that_may_hang(directory_.descriptor.number(), directory_.state.device)) {}

Result<FileHandle> RootedDir::look(const RequestContext& context, const std::string& path) const {
  TRY(may_ask(context, directory_.state.device));
  const int top = directory_.descriptor.number();
  if (path.empty()) {
    Descriptor again(::openat(top, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!again) return place_error(errno);
    return handle_of(std::move(again));
  }
  if (Descriptor found = open_inside(top, path)) return handle_of(std::move(found));
  if (!needs_steps(errno)) return place_error(errno);
  auto at = look(context, "");
  for (std::size_t begin = 0; at && begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    at = look_in(context, *at, path.substr(begin, end - begin));
    begin = end + 1;
  }
  return at;
}

Result<FileHandle> RootedDir::look_in(const RequestContext& context, const FileHandle& directory,
                                      const std::string& name) const {
  if (directory.is_recordfs || !is_name(name)) return place_error(ENOENT);
  TRY(may_ask(context, directory.state.device));
  const int above = directory.descriptor.number();
  if (Descriptor found = open_inside(above, name)) return handle_of(std::move(found));
  if (!needs_steps(errno)) return place_error(errno);
  Descriptor found(::openat(above, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!found) return place_error(errno);
  ASSIGN_OR_RETURN(const auto device, device_of(found));
  if (device != directory.state.device && RecordfsMounts::of_process().contains(device)) {
    return FileHandle{std::move(found), {.device = device}, true};
  }
  TRY(may_ask(context, device));
  return handle_of(std::move(found));
}

Result<Descriptor> RootedDir::open_directory(const FileHandle& directory) {
  if (directory.is_recordfs) return place_error(ENOENT);
  Descriptor opened(::openat(directory.descriptor.number(), ".", kReading | O_DIRECTORY));
  if (!opened) return place_error(errno);
  return opened;
}

Result<std::shared_ptr<MirroredListing>> RootedDir::open_listing(const RequestContext&,
                                                                 const FileHandle& directory) const {
  ASSIGN_OR_RETURN(auto descriptor, open_directory(directory));
  ASSIGN_OR_RETURN(auto stream, DirectoryStream::of(std::move(descriptor)));
  return std::shared_ptr<MirroredListing>(std::move(stream));
}

Result<std::unique_ptr<MirroredFile>> RootedDir::open(const RequestContext& context, const std::string& path,
                                                      const FileState& state) const {
  const std::size_t slash = path.rfind('/');
  ASSIGN_OR_RETURN(const auto directory, look(context, slash == std::string::npos ? "" : path.substr(0, slash)));
  if (directory.is_recordfs) return place_error(ENOENT);
  TRY(may_ask(context, state.device));
  ASSIGN_OR_RETURN(auto file, open_file_in(directory.descriptor.number(), path.substr(slash + 1)));
  return std::unique_ptr<MirroredFile>(std::make_unique<LocalFile>(std::move(file)));
}

void RootedDir::add_usage(const RequestContext& context, Usage& usage) const {
  const auto top = look(context, "");
  struct statvfs st {};
  if (!top || ::fstatvfs(top->descriptor.number(), &st) != 0) return;
  usage.bytes += (st.f_blocks - st.f_bfree) * st.f_frsize;
  usage.files += st.f_files - st.f_ffree;
}

Result<Descriptor> RootedDir::open_file_in(int directory, const std::string& name) {
  Descriptor opened(::openat(directory, name.c_str(), kReading));
  if (!opened) return place_error(errno);
  struct stat st {};
  if (::fstat(opened.number(), &st) != 0) return place_error(errno);
  if (!S_ISREG(st.st_mode)) return place_error(ENOENT);
  return opened;
}

Result<std::size_t> RootedDir::read_file(const Descriptor& file, std::uint64_t at, MutableBytes out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(file.number(), out.data() + done, out.size() - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return place_error(errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<std::string> RootedDir::target(const FileHandle& link) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlinkat(link.descriptor.number(), "", text.data(), text.size());
  if (length < 0) return place_error(errno);
  return std::string(text.data(), static_cast<std::size_t>(length));
}

Result<std::shared_ptr<DirectoryStream>> DirectoryStream::of(Descriptor directory) {
  Stream stream(::fdopendir(directory.number()));
  if (!stream) return place_error(errno);
  directory.release();
  return std::shared_ptr<DirectoryStream>(new DirectoryStream(std::move(stream)));
}

Result<void> DirectoryStream::read(const RequestContext&, std::uint64_t place, const Take& take) {
  const std::lock_guard lock(mutex_);
  // Place 0 always rereads the directory, to show what has changed.
  if (place != place_ || place == 0) {
    ::seekdir(stream_.get(), static_cast<long>(place));
    entry_ = nullptr;
    place_ = place;
  }
  for (;;) {
    errno = 0;
    if (entry_ == nullptr) entry_ = ::readdir(stream_.get());
    if (entry_ == nullptr) {
      if (errno != 0) return place_error(errno);
      return {};
    }
    const auto next = static_cast<std::uint64_t>(entry_->d_off);
    const Name name{.name = entry_->d_name,
                    .type = entry_->d_type,
                    .next = next,
                    .is_container = {},
                    .directory = ::dirfd(stream_.get())};
    if (!take(name)) return {};
    entry_ = nullptr;
    place_ = next;
  }
}

}  // namespace recordfs
