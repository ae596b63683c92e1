#include "core/store/saved_index.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/descriptor.h"
#include "core/hash/highway.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kEndBytes = 4096;
constexpr std::uint64_t kLargestIndex = 64u << 20;
// A change within this time after the last one may leave the same time stamp.
constexpr std::chrono::milliseconds kFineStamp{15};
constexpr std::chrono::seconds kCoarseStamp{2};  // of filesystems without fractions of a second

// Returns whether the user owns the file, and no other user may write to it.
bool is_ours(const struct stat& st) { return st.st_uid == ::geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

// Returns a closed descriptor if the directory is missing or fails is_ours().
Descriptor open_directory(const std::string& path) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!directory) return directory;
  if (::fstat(directory.number(), &st) == 0 && is_ours(st)) return directory;
  errno = EPERM;
  return {};
}

std::optional<Buffer> read_file(const RequestContext& context, const std::string& directory_path,
                                const std::string& name) {
  const Descriptor directory = open_directory(directory_path);
  if (!directory) return std::nullopt;
  const Descriptor file(::openat(directory.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st {};
  if (!file || ::fstat(file.number(), &st) != 0) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (!S_ISREG(st.st_mode) || !is_ours(st) || size > kLargestIndex) return std::nullopt;
  auto bytes = Buffer::allocate(context, static_cast<std::size_t>(size));
  if (!bytes) return std::nullopt;
  std::size_t filled = 0;
  while (filled < bytes->size()) {
    const ssize_t got = ::read(file.number(), bytes->data() + filled, bytes->size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    filled += static_cast<std::size_t>(got);
  }
  return std::move(*bytes);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::optional<std::uint64_t> hash_of(const RequestContext& context, const Source& source, Position begin,
                                     std::uint64_t size) {
  const auto bytes = read_exactly(context, source, begin, size);
  if (!bytes) return std::nullopt;
  return highway_hash(bytes->view());
}

// Hashes the first bytes of a file, and the last ones before `size`.
bool hash_ends(const RequestContext& context, const Source& source, std::uint64_t size, IndexKey& key) {
  const std::uint64_t length = std::min(size, kEndBytes);
  const auto first = hash_of(context, source, 0, length);
  const auto last = hash_of(context, source, size - length, length);
  if (!first || !last) return false;
  key.first = *first;
  key.last = *last;
  return true;
}

bool is_long_ago(std::int64_t seconds, std::int64_t nanoseconds) {
  const auto changed = std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::chrono::nanoseconds least = nanoseconds == 0 ? kCoarseStamp : std::chrono::nanoseconds(kFineStamp);
  return changed + least < now;
}

std::string reason(std::string_view action) {
  return fmt::format("{}: {}", action, std::generic_category().message(errno));
}

}  // namespace

void make_directory(const IndexLocation& location) {
  if (::access(location.directory.c_str(), F_OK) == 0) return;
  const std::string above = location.directory.substr(0, location.directory.rfind('/'));
  if (!above.empty()) ::mkdir(above.c_str(), S_IRWXU);
  ::mkdir(location.directory.c_str(), S_IRWXU);
}

SavedIndex::SavedIndex(IndexLocation location, const Source& source, std::string_view format, ScanDetail detail,
                       CatalogBounds bounds, Log log)
    : location_(std::move(location)), source_(source), bounds_(bounds), log_(std::move(log)) {
  const std::string way = fmt::format("{}\n{}\n{}", location_.settings, format, static_cast<int>(detail));
  way_ = highway_hash(as_bytes(way));
  key_.maker = highway_hash(as_bytes(fmt::format("{}\n{}", way, location_.program)));
}

// There is one file per inode and way of scanning, so that newer results replace older ones.
std::string SavedIndex::file_name() const { return fmt::format("{:x}-{:x}-{:016x}", key_.device, key_.inode, way_); }

std::optional<SavedIndex::Loaded> SavedIndex::read(const RequestContext& context) {
  const auto identity = source_.identity();
  if (!identity) return std::nullopt;
  key_.device = identity->device;
  key_.inode = identity->inode;
  key_.size = source_.size();
  key_.mtime_seconds = identity->mtime_seconds;
  key_.mtime_nanoseconds = identity->mtime_nanoseconds;
  is_settled_ = is_long_ago(key_.mtime_seconds, key_.mtime_nanoseconds);
  const auto bytes = read_file(context, location_.directory, file_name());
  if (!bytes) return std::nullopt;
  auto saved = decode_index(bytes->view(), bounds_);
  if (!saved || saved->key.size > key_.size) return std::nullopt;
  const bool has_grown = saved->key.size < key_.size;
  IndexKey now = key_;
  if (has_grown) {
    // Appending changes only these.
    now.size = saved->key.size;
    now.mtime_seconds = saved->key.mtime_seconds;
    now.mtime_nanoseconds = saved->key.mtime_nanoseconds;
  }
  if (!hash_ends(context, source_, now.size, now) || saved->key != now) return std::nullopt;
  // If the file was written to since it was opened, its time stamp is too old. Appended data is harmless.
  if (source_.generation() != 0 && !source_.has_grown()) return std::nullopt;
  log_(Severity::kDetail, fmt::format("found the saved index {}/{}", location_.directory, file_name()));
  return Loaded{std::move(saved->snapshot), has_grown};
}

void SavedIndex::write(const RequestContext& context, const CatalogSnapshot& snapshot,
                       std::chrono::steady_clock::duration scanned) {
  if (!is_settled_ || scanned < location_.least_scan_time) return;
  IndexKey key = key_;
  if (!hash_ends(context, source_, key.size, key)) return;
  const std::string bytes = encode_index(key, snapshot);
  if (bytes.size() > kLargestIndex) return;
  if (const auto why = try_write(bytes)) {
    log_(Severity::kInfo, fmt::format("cannot save the index in {}: {}", location_.directory, *why));
  } else {
    log_(Severity::kDetail, fmt::format("saved the index {}/{}", location_.directory, file_name()));
  }
}

// Returns why it failed; nullopt on success. No fsync(): a file that a crash truncates fails its checksum.
std::optional<std::string> SavedIndex::try_write(const std::string& bytes) const {
  make_directory(location_);
  const Descriptor directory = open_directory(location_.directory);
  if (!directory) return reason("cannot open the directory, or others may write to it");
  const std::string name = file_name();
  // A file may be mounted several times, even by one process.
  static std::atomic<unsigned> count{0};
  const std::string unfinished = fmt::format("{}.{}.{}", name, ::getpid(), count.fetch_add(1));
  ::unlinkat(directory.number(), unfinished.c_str(), 0);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const Descriptor file(::openat(directory.number(), unfinished.c_str(), flags, S_IRUSR | S_IWUSR));
  if (!file) return reason("cannot create a file");
  std::optional<std::string> why;
  if (!write_all(file.number(), bytes)) {
    why = reason("cannot write");
  } else if (::renameat(directory.number(), unfinished.c_str(), directory.number(), name.c_str()) != 0) {
    why = reason("cannot rename");
  }
  if (why) ::unlinkat(directory.number(), unfinished.c_str(), 0);
  return why;
}

void SavedIndex::remove() const {
  const Descriptor directory = open_directory(location_.directory);
  if (directory) ::unlinkat(directory.number(), file_name().c_str(), 0);
}

}  // namespace recordfs
