// Requests that have to fail.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "tests/soak/answers.h"
#include "tests/soak/questions.h"

namespace recordfs::soak {
namespace {

constexpr std::size_t kTooLong = 256;
constexpr std::int64_t kFarBehind = 1ll << 40;

int error_if(bool failed) { return failed ? errno : 0; }

std::string absent_name(Visit& visit) {
  switch (visit.below(5)) {
    case 0: return fmt::format("absent-{}", visit.below(50));
    case 1: return "99999999999";
    case 2: return visit.known->name + "~";
    case 3: return "-1";
    default: return "99999999999999999999999999999999.json";
  }
}

// Uses a file as what it is not.
void use_as_directory(Visit& visit) {
  const int at = visit.directory.number();
  const std::string& name = visit.known->name;
  visit.check_error(ENOTDIR, error_of(status_of(at, name + "/x")), "status of what is below a file");
  visit.check_error(ENOTDIR, error_if(!opened(at, name, O_RDONLY | O_DIRECTORY)), "open as a directory");
}

void read_wrong_places(Visit& visit) {
  const Descriptor file = opened(visit.directory.number(), visit.known->name, O_RDONLY | O_DIRECT);
  std::array<char, kPage> buffer{};
  visit.check_error(EINVAL, error_if(::pread(file.number(), buffer.data(), buffer.size(), -1) < 0),
                    "read before the begin");
  const auto far = static_cast<off_t>(visit.known->status.size) + kFarBehind;
  const ssize_t got = ::pread(file.number(), buffer.data(), buffer.size(), far);
  visit.check(got == 0, "read after the end", fmt::format("{} (errno {})", got, errno));
}

void use_as_file(Visit& visit) {
  const Descriptor directory = opened(visit.directory.number(), visit.known->name, O_RDONLY);
  if (!directory) return visit.check_error(visit.known->listing.error, errno, "open");
  std::array<char, kPage> buffer{};
  visit.check_error(EISDIR, error_if(::read(directory.number(), buffer.data(), buffer.size()) < 0),
                    "read of a directory");
  if (!visit.known->in_container) return;  // outside, offsets are defined by the source's file system
  ::lseek(directory.number(), kFarBehind, SEEK_SET);
  const auto answer = entries_of(directory.number(), kPage);
  const bool is_end = error_of(answer) == 0 && std::get<std::vector<Entry>>(answer).empty();
  visit.check(is_end || error_of(answer) == visit.known->listing.error, "listing after the end",
              fmt::format("errno {}, or entries", error_of(answer)));
}

// For a name that is not there. In keys/ of a damaged file it may be that of a lost key, so the answer may also be EIO.
void check_absent(Visit& visit, int want, int got, const char* question) {
  const bool may_be_lost = got == EIO && visit.path().find("/.views/keys/") != std::string::npos;
  if (!may_be_lost) visit.check_error(want, got, question);
}

}  // namespace

void ask_for_nothing(Visit& visit) {
  const int at = visit.directory.number();
  const std::string name = absent_name(visit);
  check_absent(visit, ENOENT, error_of(status_of(at, name)), ("status of " + name).c_str());
  visit.check_error(ENAMETOOLONG, error_of(status_of(at, std::string(kTooLong, 'x'))), "status of a long name");
  if (visit.known->error != 0 || visit.known->attributes.empty()) return;
  const int error = error_if(::lgetxattr(visit.path().c_str(), "user.recordfs.absent", nullptr, 0) < 0);
  visit.check_error(ENODATA, error, "absent attribute");
}

void ask_wrongly(Visit& visit) {
  if (visit.known->error != 0) return;
  const mode_t mode = visit.known->status.mode;
  if (S_ISLNK(mode)) {
    visit.check_error(ELOOP, error_if(!opened(visit.directory.number(), visit.known->name, O_RDONLY)),
                      "open of a link");
  } else if (S_ISDIR(mode)) {
    use_as_file(visit);
  } else if (visit.below(2) == 0) {
    use_as_directory(visit);
  } else {
    read_wrong_places(visit);
  }
}

void ask_for_change(Visit& visit) {
  const int at = visit.directory.number();
  const char* const name = visit.known->name.c_str();
  check_absent(visit, EROFS, error_if(::mkdirat(at, "new", 0777) != 0), "mkdir");
  check_absent(visit, EROFS, error_if(!Descriptor(::openat(at, "new", O_CREAT | O_WRONLY | O_CLOEXEC, 0666))),
               "creation");
  check_absent(visit, EROFS, error_if(::symlinkat("x", at, "new") != 0), "symlink");
  check_absent(visit, EROFS, error_if(::renameat(at, name, at, "new") != 0), "rename");
  if (visit.known->error != 0) return;
  visit.check_error(EROFS, error_if(::utimensat(at, name, nullptr, AT_SYMLINK_NOFOLLOW) != 0), "utimens");
  if (!S_ISREG(visit.known->status.mode)) return;
  visit.check_error(EROFS, error_if(!opened(at, visit.known->name, O_WRONLY)), "open for writing");
  visit.check_error(EROFS, error_if(::unlinkat(at, name, 0) != 0), "unlink");
  visit.check_error(EROFS, error_if(::fchmodat(at, name, 0777, 0) != 0), "chmod");
}

}  // namespace recordfs::soak
