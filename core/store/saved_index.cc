#include "core/store/saved_index.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <concepts>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/descriptor.h"
#include "core/hash/highway.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kMagic = 0x78646e6973666372;  // "rcfsindx"
constexpr std::uint32_t kVersion = 4;
constexpr std::size_t kChecksumSize = 8;
constexpr std::size_t kHeadSize = 16 + 64 + 8 + 40 + 24;  // without its checksum
constexpr std::size_t kAnchorSize = 56;
constexpr std::size_t kLeastRowSize = 43;
constexpr std::size_t kCachedSizesSize = 8;
constexpr std::size_t kLongestReason = 4096;
constexpr std::uint32_t kSizesKnown = 1;  // the only flag

class Writer {
 public:
  template <std::unsigned_integral Number>
  void put(Number number) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) text_.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
  }
  void put(const PrefixSums& totals) {
    for (const std::uint64_t number : {totals.chunks, totals.records, totals.bytes, totals.rows, totals.position}) {
      put(number);
    }
  }
  void put(const IndexKey& key) {
    for (const std::uint64_t number :
         {key.producer_hash, key.format, key.source, key.version, key.touch, key.size, key.first, key.last}) {
      put(number);
    }
  }
  void put(const Anchor& anchor) {
    put(anchor.key.position);
    put(anchor.key.state);
    put(anchor.before);
  }
  void put(const CachedSizes& sizes) {
    put(sizes.records);
    put(sizes.size);
  }
  void put(const DamageRow& row) {
    const DamagedRegion& region = row.region;
    for (const std::uint64_t number : {region.begin, region.end, region.records_before,
                                       region.records_lost.value_or(region.least_lost), row.first_ordinal}) {
      put(number);
    }
    const std::string_view reason = std::string_view(region.reason).substr(0, kLongestReason);
    put(static_cast<std::uint8_t>(region.records_lost.has_value()));
    put(static_cast<std::uint8_t>(region.damage_class));
    put(static_cast<std::uint16_t>(reason.size()));
    text_ += reason;
  }
  void put_checksum() { put(highway_hash(as_bytes(text_))); }
  std::string finish() {
    put_checksum();
    return std::move(text_);
  }

 private:
  std::string text_;
};

PrefixSums read_totals(Cursor& cursor) {
  PrefixSums totals;
  totals.chunks = cursor.u64_le();
  totals.records = cursor.u64_le();
  totals.bytes = cursor.u64_le();
  totals.rows = cursor.u64_le();
  totals.position = cursor.u64_le();
  return totals;
}

IndexKey read_key(Cursor& cursor) {
  IndexKey key;
  key.producer_hash = cursor.u64_le();
  key.format = cursor.u64_le();
  key.source = cursor.u64_le();
  key.version = cursor.u64_le();
  key.touch = cursor.u64_le();
  key.size = cursor.u64_le();
  key.first = cursor.u64_le();
  key.last = cursor.u64_le();
  return key;
}

bool is_within(const PrefixSums& totals, const PrefixSums& all, std::uint64_t size) {
  return totals.chunks <= all.chunks && totals.records <= all.records && totals.bytes <= all.bytes &&
         totals.rows <= all.rows && totals.position <= size;
}

bool are_possible(const PrefixSums& totals, std::uint64_t size) {
  return totals.chunks <= size && totals.records <= kLargestSum && totals.bytes <= kLargestSum &&
         totals.rows <= kLargestSum && totals.position <= size;
}

// Returns whether dropping every other anchor can lead to this stride.
bool is_stride(std::uint64_t stride, std::uint64_t anchors, const CatalogBounds& bounds) {
  const std::uint64_t times = stride / bounds.chunks_per_anchor;
  if (stride % bounds.chunks_per_anchor != 0 || !std::has_single_bit(times)) return false;
  return times == 1 || anchors > bounds.anchors / 2;
}

// Fails the cursor if the anchors are inconsistent.
std::vector<Anchor> read_anchors(Cursor& cursor, std::uint64_t count, std::uint64_t stride, const PrefixSums& all,
                                 std::uint64_t size) {
  std::vector<Anchor> anchors;
  anchors.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    Anchor anchor;
    anchor.key.position = cursor.u64_le();
    anchor.key.state = cursor.u64_le();
    anchor.before = read_totals(cursor);
    const PrefixSums& before = anchor.before;
    const PrefixSums last = anchors.empty() ? PrefixSums{} : anchors.back().before;
    const bool follows = before.records >= last.records && before.bytes >= last.bytes && before.rows >= last.rows;
    if (!follows || before.chunks != i * stride || anchor.key.position >= size || !is_within(before, all, size)) {
      cursor.fail();
      return {};
    }
    anchors.push_back(anchor);
  }
  return anchors;
}

bool is_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
}

std::vector<DamageRow> read_rows(Cursor& cursor, std::uint64_t count, const PrefixSums& all, std::uint64_t size) {
  std::vector<DamageRow> rows;
  rows.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count && cursor.ok(); ++i) {
    DamageRow row;
    DamagedRegion& region = row.region;
    region.begin = cursor.u64_le();
    region.end = cursor.u64_le();
    region.records_before = cursor.u64_le();
    const std::uint64_t lost = cursor.u64_le();
    row.first_ordinal = cursor.u64_le();
    const std::uint8_t knows_lost = cursor.u8();
    const std::uint8_t damage_class = cursor.u8();
    const std::uint16_t length = cursor.u16_le();
    region.reason = as_text(cursor.take(std::min<std::size_t>(length, kLongestReason)));
    const bool is_sound = region.begin < region.end && region.end <= size && row.first_ordinal <= all.records &&
                          knows_lost <= 1 && damage_class <= static_cast<std::uint8_t>(DamageClass::kUnsupported) &&
                          length <= kLongestReason && is_text(region.reason);
    if (!is_sound) {
      cursor.fail();
      return {};
    }
    if (knows_lost == 1) region.records_lost = lost;
    if (knows_lost == 0) region.least_lost = lost;
    region.damage_class = static_cast<DamageClass>(damage_class);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CachedSizes> read_cached_sizes(Cursor& cursor, std::uint64_t count) {
  std::vector<CachedSizes> all;
  all.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    CachedSizes cached_sizes;
    cached_sizes.records = cursor.u32_le();
    cached_sizes.size = cursor.u32_le();
    all.push_back(cached_sizes);
  }
  return all;
}

Error broken() { return {.code = Code::kDamage, .detail = "corrupt index"}; }

// What precedes the tables.
struct Head {
  bool sizes_known = false;
  IndexKey key{};
  std::uint64_t stride = 0;
  PrefixSums totals{};
  struct {
    std::uint64_t anchors = 0;
    std::uint64_t rows = 0;
    std::uint64_t cached_sizes = 0;
  } tables{};
};

// Decodes the head, which other bytes may follow.
Result<Head> decode_head(Bytes bytes) {
  Cursor cursor(bytes);
  if (cursor.u64_le() != kMagic) return broken();
  if (cursor.u32_le() != kVersion) return Error{.code = Code::kUnsupported, .detail = "unknown index version"};
  const std::uint32_t flags = cursor.u32_le();
  Head head{.sizes_known = flags == kSizesKnown};
  head.key = read_key(cursor);
  head.stride = cursor.u64_le();
  head.totals = read_totals(cursor);
  head.tables.anchors = cursor.u64_le();
  head.tables.rows = cursor.u64_le();
  head.tables.cached_sizes = cursor.u64_le();
  const std::uint64_t checksum = cursor.u64_le();
  if (!cursor.ok() || checksum != highway_hash(bytes.first(kHeadSize))) return broken();
  if (flags > kSizesKnown || !are_possible(head.totals, head.key.size)) return broken();
  return head;
}

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

std::string encode_index(const IndexKey& key, const CatalogSnapshot& snapshot) {
  Writer writer;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(snapshot.sizes_known ? kSizesKnown : std::uint32_t{0});
  writer.put(key);
  writer.put(snapshot.stride);
  writer.put(snapshot.totals);
  writer.put(std::uint64_t{snapshot.anchors.size()});
  writer.put(std::uint64_t{snapshot.damage.size()});
  writer.put(std::uint64_t{snapshot.cached_sizes.size()});
  writer.put_checksum();
  for (const Anchor& anchor : snapshot.anchors) writer.put(anchor);
  for (const DamageRow& row : snapshot.damage) writer.put(row);
  for (const CachedSizes& sizes : snapshot.cached_sizes) writer.put(sizes);
  return writer.finish();
}

std::uint64_t hash_of_format(std::string_view format) { return highway_hash(as_bytes(format)); }

Result<SavedCatalog> decode_index(Bytes bytes, const CatalogBounds& bounds) {
  ASSIGN_OR_RETURN(const Head head, decode_head(bytes));
  if (bytes.size() < kHeadSize + 2 * kChecksumSize) return broken();
  const Bytes content = bytes.first(bytes.size() - kChecksumSize);
  if (Cursor(bytes.subspan(content.size())).u64_le() != highway_hash(content)) return broken();

  Cursor cursor(content.subspan(kHeadSize + kChecksumSize));
  SavedCatalog saved;
  saved.key = head.key;
  CatalogSnapshot& snapshot = saved.snapshot;
  snapshot.stride = head.stride;
  snapshot.totals = head.totals;
  snapshot.sizes_known = head.sizes_known;
  const auto& [anchors, rows, cached_sizes] = head.tables;
  const PrefixSums& all = snapshot.totals;
  if (anchors > bounds.anchors || rows > bounds.damage_rows) return broken();
  if (cached_sizes > bounds.cached_sizes || cached_sizes > all.chunks) return broken();
  if (anchors > cursor.remaining() / kAnchorSize || rows > cursor.remaining() / kLeastRowSize) return broken();
  if (!is_stride(snapshot.stride, anchors, bounds)) return broken();
  const std::uint64_t due = all.chunks / snapshot.stride + (all.chunks % snapshot.stride != 0 ? 1 : 0);
  if (anchors != due) return broken();
  snapshot.anchors = read_anchors(cursor, anchors, snapshot.stride, all, saved.key.size);
  snapshot.damage = read_rows(cursor, rows, all, saved.key.size);
  if (cached_sizes != cursor.remaining() / kCachedSizesSize) return broken();
  snapshot.cached_sizes = read_cached_sizes(cursor, cached_sizes);
  if (!cursor.ok() || !cursor.at_end()) return broken();
  return saved;
}

std::optional<SavedTotals> saved_totals(const RequestContext& context, const IndexLocation& location,
                                        const SourceId& source, ScanDetail detail) {
  IndexKey key;
  set_id(key, source);
  const auto bytes = read_file(context, location.directory, name_of(key, settings_hash_of(location, detail)),
                               kHeadSize + kChecksumSize);
  if (!bytes) return std::nullopt;
  const auto head = decode_head(bytes->view());
  const bool is_valid = head && head->key.producer_hash == producer_hash_of(location, detail) &&
                        head->key.source == key.source && head->key.version == key.version && key.touch != 0 &&
                        head->key.touch == key.touch;
  if (!is_valid) return std::nullopt;
  return SavedTotals{head->key.format, head->key.size, head->totals, head->sizes_known, head->tables.rows};
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
  if (!write_all(file.number(), bytes)) {
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
