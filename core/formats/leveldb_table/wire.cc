#include "core/formats/leveldb_table/wire.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "core/hash/crc32c.h"
#include "core/hash/xxhash.h"

namespace recordfs::leveldb_table {
namespace {

constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;
constexpr std::uint64_t kRocksDbMagic = 0x88e241b785f4cff7;
constexpr std::size_t kMagicSize = 8;
constexpr std::size_t kPlacesSize = 40;  // two places in their longest form

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 48;

constexpr std::uint32_t kLatestVersion = 7;
constexpr std::uint32_t kFirstWithSizes = 2;    // of decompressed blocks
constexpr std::uint32_t kFirstWithContext = 6;  // in each checksum
constexpr std::uint32_t kExtendedMagic = 0x007a003e;

// RocksDB numbers the codecs differently from LevelDB.
enum Number : std::uint8_t {
  kStored = 0,
  kSnappy = 1,
  kZstdOrZlib = 2,
  kRawDeflate = 4,
  kRocksDbDeflate = 2,
  kRocksDbLz4 = 4,
  kRocksDbLz4Hc = 5,
  kRocksDbZstd = 7,
};

// Appends the last byte separately, as RocksDB does.
std::uint32_t rocksdb_xxh3(Bytes bytes) {
  if (bytes.empty()) return 0;
  return with_type_apart(static_cast<std::uint32_t>(xxh3(bytes.first(bytes.size() - 1))), bytes.back());
}

std::uint32_t checksum_of(Checksum checksum, Bytes bytes) {
  switch (checksum) {
    case Checksum::kNone: return 0;
    case Checksum::kCrc32c: return mask_crc(crc32c(bytes));
    case Checksum::kXxHash32: return xxh32(bytes);
    case Checksum::kXxHash64: return static_cast<std::uint32_t>(xxh64(bytes));
    case Checksum::kXxh3: return rocksdb_xxh3(bytes);
  }
  return 0;
}

std::string flaw_of_places(const Footer& footer) {
  if (!fits(footer.metaindex, footer.begin)) return "the meta index would not fit the file";
  if (footer.index && !fits(*footer.index, footer.begin)) return "the index would not fit the file";
  return {};
}

void read_places(Bytes bytes, Footer& footer) {
  Cursor cursor(bytes);
  footer.metaindex = read_place(cursor);
  footer.index = read_place(cursor);
  footer.flaw = cursor.ok() ? flaw_of_places(footer) : "the positions of the indexes are invalid";
  // One of the two directly precedes the footer.
  for (const BlockPlace& place : {footer.metaindex, *footer.index}) {
    if (cursor.ok() && fits(place, kLargestFile)) {
      footer.due = std::max(footer.due, place.begin + place.size + kTrailerSize);
    }
  }
}

// From version 6 on: a checksum of the footer, and the meta index directly before it.
void read_extended(Cursor cursor, Bytes bytes, Footer& footer) {
  constexpr std::size_t kChecksumAt = 5;
  const bool has_magic = cursor.u32_le() == kExtendedMagic;
  const std::uint32_t stored = cursor.u32_le();
  footer.dialect.context = cursor.u32_le();
  footer.metaindex.size = cursor.u32_le();
  if (!has_magic) {
    footer.flaw = "the footer's second magic is wrong";
    return;
  }
  std::array<std::byte, kRocksDbFooterSize> copy{};
  std::ranges::copy(bytes, copy.begin());
  std::ranges::fill(std::span(copy).subspan(kChecksumAt, kChecksumSize), std::byte{0});
  const bool is_checked = footer.dialect.checksum != Checksum::kNone;
  const std::uint32_t sum = checksum_of(footer.dialect.checksum, copy);
  if (is_checked) footer.due = (stored - sum) ^ footer.dialect.context;
  if (is_checked && stored != sum + context_of(footer.dialect, footer.begin)) {
    footer.flaw = "the footer's checksum does not match";
  } else if (footer.begin < kTrailerSize || footer.metaindex.size > footer.begin - kTrailerSize) {
    footer.flaw = "the meta index would not fit the file";
  } else {
    footer.metaindex.begin = footer.begin - kTrailerSize - footer.metaindex.size;
  }
}

void read_rocksdb_footer(Bytes bytes, Footer& footer) {
  footer.dialect.is_rocksdb = true;
  Cursor cursor(bytes);
  const std::uint8_t checksum = cursor.u8();
  const Bytes places = cursor.take(kPlacesSize);
  footer.dialect.version = cursor.u32_le();
  if (checksum > static_cast<std::uint8_t>(Checksum::kXxh3)) {
    footer.flaw = fmt::format("unknown checksum type {}", checksum);
    return;
  }
  footer.dialect.checksum = static_cast<Checksum>(checksum);
  if (footer.dialect.version > kLatestVersion) {
    footer.flaw = fmt::format("unknown format version {}", footer.dialect.version);
  } else if (footer.dialect.version >= kFirstWithContext) {
    read_extended(Cursor(places), bytes, footer);
  } else {
    read_places(places, footer);
  }
}

}  // namespace

BlockPlace read_place(Cursor& cursor) {
  BlockPlace place;
  place.begin = cursor.varint64();
  place.size = cursor.varint64();
  return place;
}

bool fits(const BlockPlace& place, Position end) {
  return place.begin <= end && place.size <= end - place.begin && kTrailerSize <= end - place.begin - place.size;
}

std::string_view to_string(Checksum checksum) {
  switch (checksum) {
    case Checksum::kNone: return "none";
    case Checksum::kCrc32c: return "crc32c";
    case Checksum::kXxHash32: return "xxhash32";
    case Checksum::kXxHash64: return "xxhash64";
    case Checksum::kXxh3: return "xxh3";
  }
  return "none";
}

std::uint32_t with_type_apart(std::uint32_t sum, std::byte type) {
  constexpr std::uint32_t kPrime = 0x6b9083d9;
  return sum ^ std::to_integer<std::uint32_t>(type) * kPrime;
}

std::uint32_t context_of(const Dialect& dialect, Position begin) {
  if (dialect.context == 0) return 0;
  begin -= static_cast<Position>(dialect.shift);
  return dialect.context ^ (static_cast<std::uint32_t>(begin) + static_cast<std::uint32_t>(begin >> 32));
}

bool checksum_matches(const Dialect& dialect, Bytes stored, Position begin) {
  if (dialect.checksum == Checksum::kNone) return true;
  Cursor cursor(stored.last(kChecksumSize));
  const Bytes covered = stored.first(stored.size() - kChecksumSize);
  return cursor.u32_le() == checksum_of(dialect.checksum, covered) + context_of(dialect, begin);
}

std::optional<Packing> packing_of(const Dialect& dialect, std::uint8_t number, Bytes first) {
  if (number == kStored) return Packing{};
  if (number == kSnappy) return Packing{CodecId::kSnappy};
  if (dialect.is_rocksdb) {
    const bool has_sizes = dialect.version >= kFirstWithSizes;
    const StatedSize size = has_sizes ? StatedSize::kVarint : StatedSize::kNone;
    if (number == kRocksDbDeflate) return Packing{CodecId::kDeflate, size};
    if (number == kRocksDbZstd) return Packing{CodecId::kZstd, size};
    if (number == kRocksDbLz4 || number == kRocksDbLz4Hc) {
      return Packing{CodecId::kLz4Frame, has_sizes ? StatedSize::kVarint : StatedSize::kEightBytes};
    }
    return std::nullopt;
  }
  // LevelDB's zstd and the zlib of Minecraft Bedrock share a number.
  if (number == kZstdOrZlib) return Packing{begins_zlib(first) ? CodecId::kZlib : CodecId::kZstd};
  if (number == kRawDeflate) return Packing{CodecId::kDeflate};
  return std::nullopt;
}

std::optional<Footer> parse_footer(Bytes tail, std::uint64_t file_size) {
  if (tail.size() < kFooterSize) return std::nullopt;
  Cursor magic(tail.last(kMagicSize));
  const std::uint64_t found = magic.u64_le();
  Footer footer;
  if (found == kMagic) {
    footer.begin = file_size - kFooterSize;
    read_places(tail.last(kFooterSize).first(kPlacesSize), footer);
    return footer;
  }
  if (found != kRocksDbMagic || tail.size() < kRocksDbFooterSize) return std::nullopt;
  footer.begin = file_size - kRocksDbFooterSize;
  footer.stored_size = kRocksDbFooterSize;
  read_rocksdb_footer(tail.last(kRocksDbFooterSize), footer);
  return footer;
}

}  // namespace recordfs::leveldb_table
