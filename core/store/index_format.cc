#include "core/store/index_format.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/cursor.h"
#include "core/hash/highway.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kMagic = 0x78646e6973666372;  // "rcfsindx"
constexpr std::uint32_t kVersion = 5;
constexpr std::size_t kChecksumSize = 8;
constexpr std::size_t kHeadSize = kIndexHeadSize - kChecksumSize;
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
  void put(const ChunkPlaces& places) { text_ += places.bytes(); }
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

}  // namespace

Result<IndexHead> decode_index_head(Bytes bytes) {
  Cursor cursor(bytes);
  if (cursor.u64_le() != kMagic) return broken();
  if (cursor.u32_le() != kVersion) return Error{.code = Code::kUnsupported, .detail = "unknown index version"};
  const std::uint32_t flags = cursor.u32_le();
  IndexHead head{.sizes_known = flags == kSizesKnown};
  head.key = read_key(cursor);
  head.stride = cursor.u64_le();
  head.totals = read_totals(cursor);
  head.tables.anchors = cursor.u64_le();
  head.tables.rows = cursor.u64_le();
  head.tables.cached_sizes = cursor.u64_le();
  head.tables.places = cursor.u64_le();
  head.tables.bytes_of_places = cursor.u64_le();
  const std::uint64_t checksum = cursor.u64_le();
  if (!cursor.ok() || checksum != highway_hash(bytes.first(kHeadSize))) return broken();
  if (flags > kSizesKnown || !are_possible(head.totals, head.key.size)) return broken();
  return head;
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
  writer.put(snapshot.places.chunks());
  writer.put(std::uint64_t{snapshot.places.bytes().size()});
  writer.put_checksum();
  for (const Anchor& anchor : snapshot.anchors) writer.put(anchor);
  for (const DamageRow& row : snapshot.damage) writer.put(row);
  for (const CachedSizes& sizes : snapshot.cached_sizes) writer.put(sizes);
  writer.put(snapshot.places);
  return writer.finish();
}

Result<SavedCatalog> decode_index(Bytes bytes, const CatalogBounds& bounds) {
  ASSIGN_OR_RETURN(const IndexHead head, decode_index_head(bytes));
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
  const auto& [anchors, rows, cached_sizes, places, bytes_of_places] = head.tables;
  const PrefixSums& all = snapshot.totals;
  if (anchors > bounds.anchors || rows > bounds.damage_rows) return broken();
  if (cached_sizes > bounds.cached_sizes || cached_sizes > all.chunks) return broken();
  if (anchors > cursor.remaining() / kAnchorSize || rows > cursor.remaining() / kLeastRowSize) return broken();
  if (!is_stride(snapshot.stride, anchors, bounds)) return broken();
  const std::uint64_t due = all.chunks / snapshot.stride + (all.chunks % snapshot.stride != 0 ? 1 : 0);
  if (anchors != due) return broken();
  snapshot.anchors = read_anchors(cursor, anchors, snapshot.stride, all, saved.key.size);
  snapshot.damage = read_rows(cursor, rows, all, saved.key.size);
  if (cached_sizes > cursor.remaining() / kCachedSizesSize) return broken();
  snapshot.cached_sizes = read_cached_sizes(cursor, cached_sizes);
  auto parsed =
      ChunkPlaces::parse(as_text(cursor.take(bytes_of_places)), places, all, snapshot.anchors, saved.key.size);
  if (!parsed) return broken();
  snapshot.places = std::move(*parsed);
  if (!cursor.ok() || !cursor.at_end()) return broken();
  return saved;
}

}  // namespace recordfs
