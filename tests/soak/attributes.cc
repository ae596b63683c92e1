// Requests about files and the file system that do not open files.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "tests/soak/answers.h"
#include "tests/soak/questions.h"

namespace recordfs::soak {
namespace {

constexpr long kFuse = 0x65735546;
constexpr long kLongestName = 255;

}  // namespace

void ask_status(Visit& visit) {
  const Known& known = *visit.known;
  const auto answer = status_of(visit.directory.number(), known.name);
  if (known.error != 0 || error_of(answer) != 0) return visit.check_error(known.error, error_of(answer), "status");
  const auto& got = std::get<Status>(answer);
  visit.check(got == known.status, "status",
              fmt::format("inode {} size {} mode {:o}, not inode {} size {} mode {:o}", got.inode, got.size, got.mode,
                          known.status.inode, known.status.size, known.status.mode));
}

void ask_target(Visit& visit) {
  const Known& known = *visit.known;
  if (known.error != 0) return;
  const auto answer = target_of(visit.directory.number(), known.name);
  if (!S_ISLNK(known.status.mode)) return visit.check_error(EINVAL, error_of(answer), "readlink");
  visit.check(error_of(answer) == 0 && std::get<std::string>(answer) == known.target, "readlink", "another target");
}

void ask_attributes(Visit& visit) {
  if (visit.known->error != 0) return;
  const auto answer = attributes_of(visit.path());
  const bool is_same = error_of(answer) == 0 && std::get<Attributes>(answer) == visit.known->attributes;
  visit.check(is_same, "attributes", fmt::format("errno {}, or others", error_of(answer)));
}

void ask_file_system(Visit& visit) {
  struct statfs got {};
  const int failed = ::fstatfs(visit.directory.number(), &got);
  visit.check(failed == 0 && got.f_type == kFuse && got.f_namelen == kLongestName && (got.f_flags & ST_RDONLY) != 0,
              "statfs", fmt::format("errno {}, or other values", errno));
}

void ask_access(Visit& visit) {
  const Known& known = *visit.known;
  if (known.error != 0 || S_ISLNK(known.status.mode)) return;
  const auto refusal = [&](int mode) {
    return ::faccessat(visit.directory.number(), known.name.c_str(), mode, 0) == 0 ? 0 : errno;
  };
  if (::geteuid() == 0 || (known.status.mode & S_IRUSR) != 0) visit.check_error(0, refusal(R_OK), "access for reading");
  visit.check_error(EROFS, refusal(W_OK), "access for writing");
  if (S_ISREG(known.status.mode)) visit.check_error(EACCES, refusal(X_OK), "access for running");
}

}  // namespace recordfs::soak
