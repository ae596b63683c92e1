// Splits a table into its data blocks, and reassembles it with correct checksums and a matching index
// (core/formats/leveldb_table/FORMAT.md). Uses the terms of that page. Tables of RocksDB are not split: their checksums
// are recomputed if they do not depend on the block's context.
#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "core/base/cursor.h"
#include "core/hash/crc32c.h"
#include "core/hash/xxhash.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/put.h"

namespace recordfs::fuzz {
namespace {

constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;
constexpr std::uint64_t kRocksDbMagic = 0x88e241b785f4cff7;
constexpr std::size_t kFooter = 48;
constexpr std::size_t kRocksDbFooter = 53;  // checksum type, block handles, version, magic
constexpr std::uint64_t kContexts = 6;      // checksums depend on context from this version on
constexpr std::size_t kPlaces = 40;
constexpr std::size_t kTrailer = 5;
constexpr std::size_t kMostBlocks = 4096;

struct Place {
  std::size_t begin = 0;
  std::size_t size = 0;
};

enum Checksum : std::uint8_t { kCrc32c = 1, kXxHash32, kXxHash64, kXxh3 };

struct Footer {
  Place metaindex, index;
  std::uint8_t checksum = kCrc32c;
  bool is_rocksdb = false;
};

struct IndexEntry {
  std::string key;
  Place place;
};

bool fits(std::uint64_t begin, std::uint64_t size, Bytes file) {
  return begin <= file.size() && size <= file.size() - begin && kTrailer <= file.size() - begin - size;
}

// Returns nullopt if the block does not fit in the file.
std::optional<Place> read_place(Cursor& cursor, Bytes file) {
  const std::uint64_t begin = cursor.varint64();
  const std::uint64_t size = cursor.varint64();
  if (!cursor.ok() || !fits(begin, size, file)) return std::nullopt;
  return Place{static_cast<std::size_t>(begin), static_cast<std::size_t>(size)};
}

std::optional<Footer> rocksdb_footer_of(Bytes file) {
  if (file.size() < kRocksDbFooter || get_number(file, file.size() - 8, 8) != kRocksDbMagic) return std::nullopt;
  const Bytes footer = file.last(kRocksDbFooter);
  Cursor cursor(footer.subspan(1, kPlaces));
  const auto metaindex = read_place(cursor, file);
  const auto index = metaindex ? read_place(cursor, file) : std::nullopt;
  if (!index) return std::nullopt;
  if (get_number(footer, 1 + kPlaces, 4) >= kContexts) return std::nullopt;
  return Footer{*metaindex, *index, std::to_integer<std::uint8_t>(footer.front()), true};
}

std::optional<Footer> footer_of(Bytes file) {
  if (file.size() < kFooter || get_number(file, file.size() - 8, 8) != kMagic) return std::nullopt;
  Cursor cursor(file.last(kFooter).first(kPlaces));
  const auto metaindex = read_place(cursor, file);
  const auto index = metaindex ? read_place(cursor, file) : std::nullopt;
  if (!index) return std::nullopt;
  return Footer{*metaindex, *index};
}

// Returns the entries of an uncompressed index, as far as they can be parsed.
std::vector<IndexEntry> entries_of(Bytes file, const Place& index, bool has_sizes = true) {
  std::vector<IndexEntry> entries;
  if (index.size < 4 || file[index.begin + index.size] != std::byte{0}) return entries;
  const std::uint64_t restarts = 4 * (get_number(file, index.begin + index.size - 4, 4) + 1);
  if (restarts > index.size) return entries;
  Cursor cursor(file.subspan(index.begin, index.size - static_cast<std::size_t>(restarts)));
  std::string key;
  while (!cursor.at_end() && entries.size() < kMostBlocks) {
    const std::uint32_t shared = cursor.varint32();
    const std::uint32_t suffix = cursor.varint32();
    const std::uint32_t size = has_sizes ? cursor.varint32() : 0;
    key.resize(std::min<std::size_t>(key.size(), shared));
    key += as_text(cursor.take(suffix));
    Cursor value(has_sizes ? cursor.take(size) : Bytes());
    const auto place = read_place(has_sizes ? value : cursor, file);
    if (!cursor.ok() || !place) break;
    entries.push_back({key, *place});
  }
  return entries;
}

// Values of RocksDB's indexes can omit the size, or not be block handles. An entry counts if its block begins where the
// previous one ends.
std::vector<IndexEntry> rocksdb_entries_of(Bytes file, const Place& index) {
  std::vector<IndexEntry> longest;
  for (const bool has_sizes : {true, false}) {
    std::vector<IndexEntry> entries = entries_of(file, index, has_sizes);
    std::size_t end = 0;
    std::size_t known = 0;
    for (; known < entries.size() && entries[known].place.begin == end; ++known) {
      end += entries[known].place.size + kTrailer;
    }
    entries.resize(known);
    if (entries.size() > longest.size()) longest = std::move(entries);
  }
  return longest;
}

std::uint32_t checksum_of(Bytes stored, std::uint8_t checksum = kCrc32c) {
  constexpr std::uint32_t kOfLastByte = 0x6b9083d9;
  switch (checksum) {
    case kXxHash32: return xxh32(stored);
    case kXxHash64: return static_cast<std::uint32_t>(xxh64(stored));
    case kXxh3:
      return static_cast<std::uint32_t>(xxh3(stored.first(stored.size() - 1))) ^
             std::to_integer<std::uint32_t>(stored.back()) * kOfLastByte;
    default: return mask_crc(crc32c(stored));
  }
}

void fix_block(MutableBytes file, const Place& place, std::uint8_t checksum) {
  put_number(file, place.begin + place.size + 1, 4, checksum_of(file.subspan(place.begin, place.size + 1), checksum));
}

std::string number(std::uint64_t value, std::size_t width) {
  std::string bytes(width, '\0');
  put_number(std::as_writable_bytes(std::span(bytes)), 0, width, value);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

// Appends a block and returns its encoded handle for an index.
std::string append(std::string& file, const std::string& content_and_type) {
  const std::string place = varint(file.size()) + varint(content_and_type.size() - 1);
  file += content_and_type + number(checksum_of(as_bytes(content_and_type)), 4);
  return place;
}

struct DataBlock {
  std::string key;
  std::string content_and_type;
};

std::string put_together(const std::vector<DataBlock>& blocks) {
  std::string file;
  std::string index;
  std::string restarts;
  for (const DataBlock& block : blocks) {
    restarts += number(index.size(), 4);
    const std::string place = append(file, block.content_and_type);
    index += varint(0) + varint(block.key.size()) + varint(place.size()) + block.key + place;
  }
  std::string places = append(file, number(0, 4) + number(1, 4) + '\0');
  places += append(file, index + restarts + number(blocks.size(), 4) + '\0');
  places.resize(kPlaces);
  return file + places + number(kMagic, 8);
}

std::vector<DataBlock> take_apart(Bytes file) {
  std::vector<DataBlock> blocks;
  const auto footer = footer_of(file);
  if (!footer) return blocks;
  for (const IndexEntry& entry : entries_of(file, footer->index)) {
    blocks.push_back({entry.key, std::string(as_text(file.subspan(entry.place.begin, entry.place.size + 1)))});
  }
  return blocks;
}

void change_block(DataBlock& block, std::minstd_rand& random, const ChangeBytes& change) {
  const char type = block.content_and_type.back();
  block.content_and_type.pop_back();
  change(block.content_and_type, 64);
  block.content_and_type += random() % 16 == 0 ? static_cast<char>(random() % 8) : type;
}

void fix_checksums(MutableBytes file) {
  auto footer = footer_of(file);
  if (!footer) footer = rocksdb_footer_of(file);
  if (!footer) return;
  std::vector<IndexEntry> entries =
      footer->is_rocksdb ? rocksdb_entries_of(file, footer->index) : entries_of(file, footer->index);
  for (IndexEntry& entry : entries_of(file, footer->metaindex)) entries.push_back(std::move(entry));
  for (const IndexEntry& entry : entries) fix_block(file, entry.place, footer->checksum);
  fix_block(file, footer->metaindex, footer->checksum);
  fix_block(file, footer->index, footer->checksum);
}

std::string restructure(Bytes file, std::uint64_t seed, const ChangeBytes& change) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed));
  std::vector<DataBlock> blocks = take_apart(file);
  if (blocks.empty()) {
    std::string bytes(as_text(file));
    change(bytes, 16);
    return bytes;
  }
  const std::size_t picked = random() % blocks.size();
  switch (random() % 6) {
    case 0: blocks.push_back(blocks[picked]); break;
    case 1: blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(picked)); break;
    case 2: std::swap(blocks[picked], blocks.front()); break;
    default: change_block(blocks[picked], random, change);
  }
  return put_together(blocks);
}

}  // namespace

namespace leveldb_table {

extern const Mutator kMutator;
const Mutator kMutator{fix_checksums, restructure};

}  // namespace leveldb_table
}  // namespace recordfs::fuzz
