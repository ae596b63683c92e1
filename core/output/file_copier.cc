#include "core/output/file_copier.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/write_all.h"
#include "core/hash/highway.h"
#include "core/output/publish_file.h"

namespace recordfs {
namespace {

constexpr std::size_t kCopied = 256u << 10;   // bytes at a time, which stay in a processor's cache
constexpr std::uint64_t kStarted = 8u << 20;  // bytes that the kernel is asked to write to the disk together
// Bytes at the end of an unfinished copy that are copied again, because a power failure can lose the last ones.
constexpr std::uint64_t kAgain = 1u << 20;
constexpr std::string_view kSuffix = ".part";
constexpr std::size_t kHashDigits = 16;

// Returns the beginning of the names of unfinished copies to `name`.
std::string beginning_of(const std::string& name) {
  constexpr std::size_t kLongest = 200;  // so that the rest fits in a name
  return "." + name.substr(0, kLongest) + ".";
}

// Returns whether the same bytes will have the same id.
bool has_lasting_id(const std::optional<SourceId>& id) { return id && id->is_settled; }

std::string unfinished_name(const Source& source, const std::string& name) {
  const auto id = source.id();
  std::string identity = name;
  if (has_lasting_id(id)) identity += fmt::format("\n{}\n{}\n{}", id->source, id->version, source.size());
  return fmt::format("{}{:016x}{}", beginning_of(name), highway_hash(as_bytes(identity)), kSuffix);
}

bool is_unfinished_name(std::string_view entry, std::string_view beginning) {
  if (entry.size() != beginning.size() + kHashDigits + kSuffix.size()) return false;
  const std::string_view hash = entry.substr(beginning.size(), kHashDigits);
  return entry.starts_with(beginning) && entry.ends_with(kSuffix) &&
         hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
  const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::openat(directory_.number(), unfinished.c_str(), flags, 0666));
  if (!file || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return system_error(errno);
  // Since it was opened, another process may have given it its name.
  struct stat opened {};
  struct stat named {};
  if (::fstat(file.number(), &opened) != 0) return system_error(errno);
  const bool is_there = ::fstatat(directory_.number(), unfinished.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there || named.st_ino != opened.st_ino) return system_error(EWOULDBLOCK);
  if (!S_ISREG(opened.st_mode)) return system_error(EEXIST);
  return file;
}

void FileCopier::remove_others(const std::string& beginning, const std::string& unfinished) const {
  Descriptor again(::openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again.number()), ::closedir);
  if (!entries) return;
  again.release();
  std::vector<std::string> others;
  while (const dirent* const entry = ::readdir(entries.get())) {
    if (is_unfinished_name(entry->d_name, beginning) && entry->d_name != unfinished) others.emplace_back(entry->d_name);
  }
  for (const std::string& other : others) {
    if (open_unfinished(other)) ::unlinkat(directory_.number(), other.c_str(), 0);
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
  if (::fstat(file->number(), &st) != 0) return Failure{.why = system_error(errno)};

  const bool can_continue = has_lasting_id(source.id());
  const auto copied = std::min(static_cast<std::uint64_t>(st.st_size), source.size());
  std::uint64_t at = can_continue && copied > kAgain ? copied - kAgain : 0;
  const auto failed = [&](Error why, bool is_of_source) {
    const bool is_kept = can_continue && at > 0;
    if (!is_kept) ::unlinkat(directory_.number(), unfinished.c_str(), 0);
    return Failure{.why = std::move(why), .is_of_source = is_of_source, .can_continue = is_kept};
  };
  const bool is_placed = ::ftruncate(file->number(), static_cast<off_t>(at)) == 0 &&
                         ::lseek(file->number(), static_cast<off_t>(at), SEEK_SET) >= 0;
  if (!is_placed) return failed(system_error(errno), false);
  progress(at);

  auto buffer = Buffer::allocate({}, static_cast<std::size_t>(std::min<std::uint64_t>(kCopied, source.size())));
  if (!buffer) return failed(buffer.error(), true);
  source.expect_sequential_reads();
  source.will_need(at, source.size());
  std::uint64_t started = at;  // the position up to which the kernel writes to the disk
  while (at < source.size()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(buffer->size(), source.size() - at));
    const auto read = source.read_next({}, at, buffer->span().first(size));
    if (!read) return failed(read.error(), true);
    if (*read == 0) return failed({.code = Code::kUnfinished, .position = at, .detail = "it ends here"}, true);
    if (const int error = write_all(file->number(), buffer->view().first(*read)); error != 0) {
      return failed(system_error(error), false);
    }
    at += *read;
    if (at - started >= kStarted) start_writing(file->number(), std::exchange(started, at), at);
    progress(*read);
  }
  if (const int error = complete(file->number()); error != 0) return failed(system_error(error), false);
  if (!publish_file(directory_.number(), unfinished, name, replaces_)) return failed(system_error(errno), false);
  return std::nullopt;
}

}  // namespace recordfs
