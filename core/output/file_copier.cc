#include "core/output/file_copier.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/write_all.h"
#include "core/hash/highway.h"
#include "core/output/copy_sums.h"
#include "core/output/publish_file.h"

namespace recordfs {
namespace {

constexpr std::size_t kCopied = 256u << 10;   // bytes at a time, which stay in a processor's cache
constexpr std::uint64_t kStarted = 8u << 20;  // bytes that the kernel is asked to write to the disk together
constexpr std::string_view kBytes = ".part";  // the end of the name of an unfinished copy
constexpr std::string_view kSums = ".sums";   // and of the name of its CopySums
constexpr std::size_t kHashDigits = 16;

// Returns the beginning of the names of unfinished copies to `name`, and of their sums.
std::string beginning_of(const std::string& name) {
  constexpr std::size_t kLongest = 200;  // so that the rest fits in a name
  return "." + name.substr(0, kLongest) + ".";
}

// Returns whether the same bytes will have the same id.
bool has_lasting_id(const std::optional<SourceId>& id) { return id && id->is_settled; }

// Returns the name of an unfinished copy without its end.
std::string unfinished_name(const Source& source, const std::string& name) {
  const auto id = source.id();
  std::string identity = name;
  if (has_lasting_id(id)) identity += fmt::format("\n{}\n{}\n{}", id->source, id->version, source.size());
  return fmt::format("{}{:016x}", beginning_of(name), highway_hash(as_bytes(identity)));
}

bool is_unfinished_name(std::string_view entry, std::string_view beginning) {
  if (entry.size() != beginning.size() + kHashDigits + kBytes.size()) return false;
  const std::string_view hash = entry.substr(beginning.size(), kHashDigits);
  return entry.starts_with(beginning) && (entry.ends_with(kBytes) || entry.ends_with(kSums)) &&
         hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_own_file(const Descriptor& file) {
  struct stat st {};
  return ::fstat(file.number(), &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == ::geteuid() && st.st_nlink == 1;
}

// Opens an ordinary file of this user that has no other name, or a new one in place of anything else.
Result<Descriptor> open_own(int directory, const std::string& name) {
  constexpr int kReadAndWrite = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::openat(directory, name.c_str(), kReadAndWrite));
  if (file && is_own_file(file)) return file;
  if ((file || errno != ENOENT) && ::unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT) {
    auto error = system_error(errno);
    error.detail = fmt::format("{}: {}", name, error.detail);
    return error;
  }
  file = Descriptor(::openat(directory, name.c_str(), kReadAndWrite | O_CREAT | O_EXCL, 0666));
  if (!file) return system_error(errno == EEXIST ? EWOULDBLOCK : errno);
  return file;
}

void remove_unfinished(int directory, const std::string& unfinished) {
  for (const std::string_view end : {kBytes, kSums})
    ::unlinkat(directory, fmt::format("{}{}", unfinished, end).c_str(), 0);
}

// Has the kernel begin to write [begin, end) to the disk, so that little is left to do at the end. A failure changes
// nothing.
void start_writing(int file, std::uint64_t begin, std::uint64_t end) {
  ::sync_file_range(file, static_cast<off_t>(begin), static_cast<off_t>(end - begin), SYNC_FILE_RANGE_WRITE);
}

// Some filesystems cannot sync. Others report a full disk only here.
int complete(int file) { return ::fsync(file) == 0 || errno == EINVAL ? 0 : errno; }

}  // namespace

Result<Descriptor> FileCopier::open_unfinished(const std::string& unfinished) const {
  const std::string name = unfinished + std::string(kBytes);
  ASSIGN_OR_RETURN(auto file, open_own(directory_.number(), name));
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return system_error(errno);
  // Since it was opened, another process may have given it its name.
  struct stat opened {};
  struct stat named {};
  if (::fstat(file.number(), &opened) != 0) return system_error(errno);
  const bool is_there = ::fstatat(directory_.number(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there || named.st_ino != opened.st_ino) return system_error(EWOULDBLOCK);
  return file;
}

void FileCopier::remove_others(const std::string& beginning, const std::string& unfinished) const {
  Descriptor again(::openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again.number()), ::closedir);
  if (!entries) return;
  again.release();
  std::set<std::string> others;
  while (const dirent* const entry = ::readdir(entries.get())) {
    std::string_view other(entry->d_name);
    if (!is_unfinished_name(other, beginning)) continue;
    other.remove_suffix(kBytes.size());
    if (other != unfinished) others.emplace(other);
  }
  for (const std::string& other : others) {
    if (open_unfinished(other)) remove_unfinished(directory_.number(), other);
  }
}

std::optional<FileCopier::Failure> FileCopier::copy(const Source& source, const std::string& name,
                                                    const std::function<void(std::uint64_t bytes)>& progress) const {
  struct stat st {};
  if (!replaces_ && ::fstatat(directory_.number(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    return Failure{.why = system_error(EEXIST)};
  }
  const std::string unfinished = unfinished_name(source, name);
  remove_others(beginning_of(name), unfinished);
  const auto file = open_unfinished(unfinished);
  if (!file) return Failure{.why = file.error()};

  std::uint64_t at = 0;
  std::optional<CopySums> sums;
  const auto failed = [&](Error why, bool is_of_source) {
    const bool is_kept = sums && at >= CopySums::kPiece;
    if (!is_kept) remove_unfinished(directory_.number(), unfinished);
    return Failure{.why = std::move(why), .is_of_source = is_of_source, .can_continue = is_kept};
  };
  auto buffer = Buffer::allocate({}, static_cast<std::size_t>(std::min<std::uint64_t>(kCopied, source.size())));
  if (!buffer) return failed(buffer.error(), true);
  if (has_lasting_id(source.id())) {
    auto file_of_sums = open_own(directory_.number(), unfinished + std::string(kSums));
    if (!file_of_sums) return failed(file_of_sums.error(), false);
    sums.emplace(std::move(*file_of_sums));
    at = sums->intact(file->number(), source.size(), buffer->span(), progress);
    if (const int error = sums->begin_at(at); error != 0) return failed(system_error(error), false);
  }
  const bool is_placed = ::ftruncate(file->number(), static_cast<off_t>(at)) == 0 &&
                         ::lseek(file->number(), static_cast<off_t>(at), SEEK_SET) >= 0;
  if (!is_placed) return failed(system_error(errno), false);
  source.expect_sequential_reads();
  source.will_need(at, source.size());
  std::uint64_t started = at;  // the position up to which the kernel writes to the disk
  while (at < source.size()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(buffer->size(), source.size() - at));
    const auto read = source.read_next({}, at, buffer->span().first(size));
    if (!read) return failed(read.error(), true);
    if (*read == 0) return failed({.code = Code::kUnfinished, .position = at, .detail = "it ends here"}, true);
    const Bytes bytes = buffer->view().first(*read);
    int error = write_all(file->number(), bytes);
    if (error == 0 && sums) error = sums->append(bytes);
    if (error != 0) return failed(system_error(error), false);
    at += *read;
    if (at - started >= kStarted) start_writing(file->number(), std::exchange(started, at), at);
    progress(*read);
  }
  if (const int error = complete(file->number()); error != 0) return failed(system_error(error), false);
  if (!publish_file(directory_.number(), unfinished + std::string(kBytes), name, replaces_)) {
    return failed(system_error(errno), false);
  }
  ::unlinkat(directory_.number(), (unfinished + std::string(kSums)).c_str(), 0);
  return std::nullopt;
}

}  // namespace recordfs
