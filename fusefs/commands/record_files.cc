#include "fusefs/commands/record_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::uint64_t kPiece = 1u << 20;

Error system_error(int number) { return {.code = Code::kIo, .detail = std::strerror(number), .os_error = number}; }

bool write_all(int file, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

std::optional<RecordFiles::Failure> write_record(const RecordStore& store, const Chunk& chunk, std::uint64_t index,
                                                 int file) {
  const std::uint64_t size = chunk.layout().extent(index).size;
  std::uint64_t at = 0;
  do {
    const auto piece = store.records().read(chunk, index, at, std::min(kPiece, size - at));
    if (!piece) return RecordFiles::Failure{.is_of_record = true, .why = piece.error()};
    if (!write_all(file, piece->bytes)) return RecordFiles::Failure{.why = system_error(errno)};
    at += std::max<std::uint64_t>(piece->bytes.size(), 1);
  } while (at < size);
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<RecordFiles>> RecordFiles::open(const std::string& directory, bool replaces) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_error(errno);
  return std::unique_ptr<RecordFiles>(new RecordFiles(descriptor, replaces));
}

RecordFiles::~RecordFiles() { ::close(directory_); }

std::string RecordFiles::name_of(std::uint64_t ordinal) { return fmt::format("{:09}", ordinal); }

// Returns false and sets errno on failure.
bool RecordFiles::publish(const std::string& unfinished, const std::string& name) const {
  if (replaces_) return ::renameat(directory_, unfinished.c_str(), directory_, name.c_str()) == 0;
  if (::renameat2(directory_, unfinished.c_str(), directory_, name.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // For filesystems without RENAME_NOREPLACE: a link never replaces a file either.
  if (::linkat(directory_, unfinished.c_str(), directory_, name.c_str(), 0) != 0) return false;
  ::unlinkat(directory_, unfinished.c_str(), 0);
  return true;
}

std::optional<RecordFiles::Failure> RecordFiles::write(const RecordStore& store, const Chunk& chunk,
                                                       std::uint64_t index, std::uint64_t ordinal) const {
  const std::string name = name_of(ordinal);
  struct stat st {};
  if (!replaces_ && ::fstatat(directory_, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    return Failure{.is_there = true, .why = system_error(EEXIST)};
  }
  const std::string unfinished = fmt::format(".{}.{}.recordfs", name, ::getpid());
  ::unlinkat(directory_, unfinished.c_str(), 0);  // left by a killed process
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int file = ::openat(directory_, unfinished.c_str(), flags, 0666);
  if (file < 0) return Failure{.why = system_error(errno)};
  auto failure = write_record(store, chunk, index, file);
  // Some filesystems report a full disk only here.
  if (::close(file) != 0 && !failure) failure = Failure{.why = system_error(errno)};
  if (!failure && !publish(unfinished, name)) {
    failure = Failure{.is_there = errno == EEXIST, .why = system_error(errno)};
  }
  if (failure) ::unlinkat(directory_, unfinished.c_str(), 0);
  return failure;
}

}  // namespace recordfs
