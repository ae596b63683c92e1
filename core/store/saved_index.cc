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
#include "core/base/write_all.h"
#include "core/hash/highway.h"
#include "core/store/index_file.h"
#include "core/store/index_format.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kEndBytes = 4096;
constexpr std::uint64_t kLargestIndex = 64u << 20;

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

// Reads the file, or its first `most` bytes.
std::optional<Buffer> read_file(const RequestContext& context, const std::string& directory_path,
                                const std::string& name, std::uint64_t most = kLargestIndex) {
  const Descriptor directory = open_directory(directory_path);
  if (!directory) return std::nullopt;
  const Descriptor file(::openat(directory.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat st {};
  if (!file || ::fstat(file.number(), &st) != 0) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (!S_ISREG(st.st_mode) || !is_ours(st) || size > kLargestIndex) return std::nullopt;
  auto bytes = Buffer::allocate(context, static_cast<std::size_t>(std::min(size, most)));
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

std::optional<std::uint64_t> hash_of(const RequestContext& context, const Source& source, Position begin,
                                     std::uint64_t size) {
  const auto bytes = read_exactly(context, source, begin, size);
  if (!bytes) return std::nullopt;
  return highway_hash(bytes->view());
}

// Returns the hash of what names an index, and that of what made it.
std::uint64_t settings_hash_of(const IndexLocation& location, ScanDetail detail) {
  return highway_hash(as_bytes(fmt::format("{}\n{}", location.settings, static_cast<int>(detail))));
}

std::uint64_t producer_hash_of(const IndexLocation& location, ScanDetail detail) {
  return highway_hash(
      as_bytes(fmt::format("{}\n{}\n{}", location.settings, static_cast<int>(detail), location.program)));
}

// The hash of a part of an id; 0 if it is empty.
std::uint64_t hash_of_id(std::string_view part) { return part.empty() ? 0 : highway_hash(as_bytes(part)); }

void set_id(IndexKey& key, const SourceId& id) {
  key.source = hash_of_id(id.source);
  key.version = hash_of_id(id.version);
  key.touch = hash_of_id(id.touch);
}

// Returns the name of an index. There is one file per source and way of scanning, so that newer results replace older
// ones.
std::string name_of(const IndexKey& key, std::uint64_t way) { return fmt::format("{:016x}-{:016x}", key.source, way); }

std::string reason(std::string_view action) {
  return fmt::format("{}: {}", action, std::generic_category().message(errno));
}

}  // namespace

bool hash_ends(const RequestContext& context, const Source& source, IndexKey& key) {
  if (const auto id = source.id(); id && !id->portable_version.empty()) return true;
  const std::uint64_t size = key.size;
  const std::uint64_t length = std::min(size, kEndBytes);
  const auto first = hash_of(context, source, 0, length);
  const auto last = hash_of(context, source, size - length, length);
  if (!first || !last) return false;
  key.first = *first;
  key.last = *last;
  return true;
}

bool IndexKey::operator==(const IndexKey& other) const {
  return producer_hash == other.producer_hash && format == other.format && source == other.source &&
         version == other.version && size == other.size && first == other.first && last == other.last;
}

std::uint64_t hash_of_format(std::string_view format) { return highway_hash(as_bytes(format)); }

namespace {

// Returns the head of the index that this program has saved of a source with the same version. The touch is not
// compared.
std::optional<IndexHead> read_head(const RequestContext& context, const IndexLocation& location, const IndexKey& key,
                                   ScanDetail detail) {
  const auto bytes =
      read_file(context, location.directory, name_of(key, settings_hash_of(location, detail)), kIndexHeadSize);
  if (!bytes) return std::nullopt;
  const auto head = decode_index_head(bytes->view());
  const bool is_valid = head && head->key.producer_hash == producer_hash_of(location, detail) &&
                        head->key.source == key.source && head->key.version == key.version;
  return is_valid ? std::optional(*head) : std::nullopt;
}

}  // namespace

std::optional<SavedTotals> saved_totals(const RequestContext& context, const IndexLocation& location,
                                        const SourceId& source, ScanDetail detail) {
  IndexKey key;
  set_id(key, source);
  const auto head = read_head(context, location, key, detail);
  if (!head || key.touch == 0 || head->key.touch != key.touch) return std::nullopt;
  return SavedTotals{head->key.format, head->key.size, head->totals, head->sizes_known, head->tables.rows};
}

std::optional<std::uint64_t> saved_format(const RequestContext& context, const IndexLocation& location,
                                          const SourceId& source) {
  if (source.portable_version.empty()) return std::nullopt;
  IndexKey key;
  set_id(key, source);
  for (const ScanDetail detail : {ScanDetail::kCounts, ScanDetail::kSizes}) {
    if (const auto head = read_head(context, location, key, detail)) return head->key.format;
  }
  return std::nullopt;
}

std::optional<SavedPlace> saved_place(const RequestContext& context, const IndexLocation& location,
                                      const std::string& source, std::optional<std::uint64_t> ordinal) {
  const auto place_in = [&](Bytes index, ScanDetail detail) -> std::optional<SavedPlace> {
    const auto head = decode_index_head(index);
    if (!head || head->key.producer_hash != producer_hash_of(location, detail)) return std::nullopt;
    SavedPlace place{.size = head->key.size, .format = head->key.format, .records = head->totals.records};
    if (!ordinal) return place;
    const auto saved = decode_index(index, {});
    if (!saved) return std::nullopt;
    if (const auto interval = saved->snapshot.places.interval(SearchKey::kRecords, *ordinal)) {
      place.begin = interval->from.key.position;
      place.end = std::min(place.size, interval->until.position + IntervalPlace::kReadAfter);
    }
    return place;
  };
  IndexKey key;
  key.source = hash_of_id(source);
  const std::uint64_t most = ordinal ? kLargestIndex : kIndexHeadSize;
  for (const ScanDetail detail : {ScanDetail::kCounts, ScanDetail::kSizes}) {
    const auto bytes = read_file(context, location.directory, name_of(key, settings_hash_of(location, detail)), most);
    if (const auto place = bytes ? place_in(bytes->view(), detail) : std::nullopt) return place;
  }
  if (!location.named) return std::nullopt;
  const auto parts = parts_of_index_file(location.named->bytes.view());
  for (const Bytes part : parts ? *parts : std::vector<Bytes>()) {
    for (const ScanDetail detail : {ScanDetail::kCounts, ScanDetail::kSizes}) {
      if (const auto place = place_in(part, detail)) return place;
    }
  }
  return std::nullopt;
}

void make_directory(const IndexLocation& location) {
  if (::access(location.directory.c_str(), F_OK) == 0) return;
  const std::string above = location.directory.substr(0, location.directory.rfind('/'));
  if (!above.empty()) ::mkdir(above.c_str(), S_IRWXU);
  ::mkdir(location.directory.c_str(), S_IRWXU);
}

SavedIndex::SavedIndex(IndexLocation location, const Source& source, std::string_view format, ScanDetail detail,
                       CatalogBounds bounds, Log log)
    : location_(std::move(location)),
      source_(source),
      bounds_(bounds),
      log_(std::move(log)),
      settings_hash_(settings_hash_of(location_, detail)) {
  key_.producer_hash = producer_hash_of(location_, detail);
  key_.format = hash_of_format(format);
}

std::string SavedIndex::file_name() const { return name_of(key_, settings_hash_); }

std::optional<SavedIndex::Loaded> SavedIndex::read(const RequestContext& context) {
  const auto id = source_.id();
  if (!id) return std::nullopt;
  set_id(key_, *id);
  key_.size = source_.size();
  is_settled_ = id->is_settled;
  portable_version_ = id->portable_version;
  if (auto own = read_own(context)) return own;
  return look_for_index_file(context);
}

std::optional<SavedIndex::Loaded> SavedIndex::read_own(const RequestContext& context) const {
  const auto bytes = read_file(context, location_.directory, file_name());
  if (!bytes) return std::nullopt;
  auto saved = decode_index(bytes->view(), bounds_);
  if (!saved || saved->key.size > key_.size) return std::nullopt;
  const bool has_grown = saved->key.size < key_.size;
  if (has_grown && !portable_version_.empty()) return std::nullopt;  // another version, of which nothing is compared
  IndexKey now = key_;
  if (has_grown) {
    // Appending changes only these.
    now.size = saved->key.size;
    now.version = saved->key.version;
  }
  if (!hash_ends(context, source_, now) || saved->key != now) return std::nullopt;
  // If the file was written to since it was opened, its time stamp is too old. Appended data is harmless.
  if (source_.generation() != 0 && !source_.has_grown()) return std::nullopt;
  log_(Severity::kDetail, fmt::format("found the saved index {}/{}", location_.directory, file_name()));
  if (!has_grown && key_.touch != 0 && saved->key.touch != key_.touch) {
    now.touch = key_.touch;
    static_cast<void>(try_write(encode_index(now, saved->snapshot)));
  }
  return Loaded{std::move(saved->snapshot), has_grown};
}

void SavedIndex::write(const RequestContext& context, const CatalogSnapshot& snapshot,
                       std::chrono::steady_clock::duration scanned) {
  // With a network, the next scan may take longer.
  constexpr int kRemote = 10;
  const auto least = source_.filesystem() == 0 ? location_.least_scan_time : location_.least_scan_time / kRemote;
  if (!is_settled_ || scanned < least) return;
  IndexKey key = key_;
  if (!hash_ends(context, source_, key)) return;
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
  if (location_.directory.empty()) return "no cache directory";
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
  if (write_all(file.number(), as_bytes(bytes)) != 0) {
    why = reason("cannot write");
  } else if (::renameat(directory.number(), unfinished.c_str(), directory.number(), name.c_str()) != 0) {
    why = reason("cannot rename");
  }
  if (why) ::unlinkat(directory.number(), unfinished.c_str(), 0);
  return why;
}

void SavedIndex::remove() const {
  if (!index_file_.empty()) {
    return log_(Severity::kWarning, fmt::format("the index {} is wrong (try: recordfs index)", index_file_));
  }
  const Descriptor directory = open_directory(location_.directory);
  if (directory) ::unlinkat(directory.number(), file_name().c_str(), 0);
}

}  // namespace recordfs
