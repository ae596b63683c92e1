#include "core/formats/leveldb_table/wire.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/append.h"
#include "core/base/protobuf.h"
#include "core/codec/lz4_block.h"
#include "core/hash/crc32c.h"
#include "core/hash/xxhash.h"

namespace recordfs::leveldb_table {
namespace {

// The form of the decompressed size before the stream: none, a varint, or 4 bytes and 4 ignored ones.
enum class StatedSize : std::uint8_t { kNone, kVarint, kEightBytes };

// The compression of a block. LZ4 is a bare block without a frame.
struct Packing {
  CodecId codec = CodecId::kNone;
  StatedSize size = StatedSize::kNone;
};

// Number of first bytes that packing_of() needs.
constexpr std::size_t kFirstBytes = 4;

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
  kRocksDbBzip2 = 3,
  kRocksDbLz4 = 4,
  kRocksDbLz4Hc = 5,
  kRocksDbXpress = 6,
  kRocksDbZstd = 7,
  kRocksDbFirstCustom = 0x80,
  kRocksDbLastCustom = 0xfe,
  kRocksDbDisabled = 0xff,
};

// Returns what a block with a compression that recordfs does not read is, for messages.
std::string name_unread(const Dialect& dialect, std::uint8_t number) {
  if (dialect.is_rocksdb && number == kRocksDbBzip2)
    return "a block compressed with bzip2, which recordfs does not read";
  if (dialect.is_rocksdb && number == kRocksDbXpress) return "a block compressed with Xpress, which only Windows has";
  if (dialect.is_rocksdb && number >= kRocksDbFirstCustom && number <= kRocksDbLastCustom) {
    return fmt::format("a block with the application's own compression {:#x}", number);
  }
  if (dialect.is_rocksdb && number == kRocksDbDisabled) return "a block with kDisableCompressionOption as compression";
  return fmt::format("unknown compression {}", number);
}

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
    // Since version 6, the footer has a checksum, which tells a later version from a damaged number.
    Footer later = footer;
    read_extended(Cursor(places), bytes, later);
    if (later.flaw.empty()) {
      footer = std::move(later);
      footer.flaw_code = Code::kUnsupported;
    }
    footer.flaw = fmt::format("unknown format version {}", footer.dialect.version);
  } else if (footer.dialect.version >= kFirstWithContext) {
    read_extended(Cursor(places), bytes, footer);
  } else {
    read_places(places, footer);
  }
}

Error too_large(Position begin, std::uint64_t size, std::uint64_t limit) {
  return {Code::kLimit, begin,
          fmt::format("a block of {} bytes exceeds the limit of {} bytes (see --max-chunk)", size, limit)};
}

Error at(Position begin, Error error) {
  error.position = begin;
  return error;
}

bool begins_zstd(Bytes head) {
  constexpr std::uint32_t kFrame = 0xfd2fb528;
  Cursor cursor(head);
  return cursor.u32_le() == kFrame && cursor.ok();
}

// Returns the packing for the number in the block's trailer, using its first bytes if that is ambiguous; nullopt if
// unknown.
std::optional<Packing> packing_of(const Dialect& dialect, std::uint8_t number, Bytes first) {
  if (number == kStored) return Packing{};
  if (number == kSnappy) return Packing{CodecId::kSnappy};
  if (dialect.is_rocksdb) {
    const bool has_sizes = dialect.version >= kFirstWithSizes;
    const StatedSize size = has_sizes ? StatedSize::kVarint : StatedSize::kNone;
    if (number == kRocksDbDeflate) return Packing{CodecId::kDeflate, size};
    // RocksDB states the size before zstd in all versions; a writer that follows the version does not.
    if (number == kRocksDbZstd)
      return Packing{CodecId::kZstd, begins_zstd(first) ? StatedSize::kNone : StatedSize::kVarint};
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

// Returns the number of a codec in trailers; nullopt if the dialect has none.
std::optional<std::uint8_t> number_of(const Dialect& dialect, std::string_view codec) {
  if (!dialect.is_rocksdb && codec == to_string(CodecId::kZlib)) return kZstdOrZlib;
  for (std::uint8_t number = kStored; number <= kRocksDbZstd; ++number) {
    const auto packing = packing_of(dialect, number, {});
    if (packing && to_string(packing->codec) == codec) return number;
  }
  return std::nullopt;
}

Result<Buffer> decompress_with(const RequestContext& context, const Packing& packing, Bytes stream, Bytes dictionary,
                               std::uint64_t limit) {
  constexpr std::uint64_t kUsualBlock = 4096;
  const bool uses_dictionary =
      !dictionary.empty() && packing.codec != CodecId::kSnappy && packing.codec != CodecId::kNone;
  if (packing.size == StatedSize::kNone && !uses_dictionary) {
    return decompress(context, packing.codec, stream, kUsualBlock, limit);
  }
  if (packing.size == StatedSize::kNone) {
    return Error{.code = Code::kUnsupported,
                 .detail = "the block is compressed with a dictionary, and does not state its decompressed size"};
  }
  Cursor cursor(stream);
  const std::uint64_t size = packing.size == StatedSize::kVarint ? cursor.varint32() : cursor.u32_le();
  if (packing.size == StatedSize::kEightBytes) cursor.skip(4);
  if (!cursor.ok()) return Error{Code::kDamage, 0, "the size of the decompressed block is invalid"};
  if (size > limit) return too_large(0, size, limit);
  if (packing.codec == CodecId::kLz4Frame) return decompress_lz4_block(context, cursor.rest(), size, dictionary);
  if (dictionary.empty()) return decompress_exactly(context, packing.codec, cursor.rest(), size);
  if (packing.codec == CodecId::kZstd) return decompress_zstd_with(context, dictionary, cursor.rest(), size);
  return decompress_deflate_with(context, dictionary, cursor.rest(), size);
}

// The same for bytes in memory: `stored` is the block with its trailer, already verified.
Result<Buffer> unpack_block(const RequestContext& context, Bytes stored, Position begin, const Dialect& dialect,
                            const Limits& limits) {
  const Bytes stream = stored.first(stored.size() - kTrailerSize);
  const auto number = std::to_integer<std::uint8_t>(stored[stream.size()]);
  if (dialect.dictionary && !*dialect.dictionary) return at(begin, dialect.dictionary->error());
  auto content = unpack(context, number, stream, dialect, limits.decoded_chunk);
  if (!content) return at(begin, std::move(content).error());
  return content;
}

// Returns whether the checksum at the end of `stored` matches. `stored` is a block with its trailer that begins at
// `begin`. REQUIRES: stored.size() >= kTrailerSize.
bool checksum_matches(const Dialect& dialect, Bytes stored, Position begin) {
  if (dialect.checksum == Checksum::kNone) return true;
  Cursor cursor(stored.last(kChecksumSize));
  const Bytes covered = stored.first(stored.size() - kChecksumSize);
  return cursor.u32_le() == checksum_of(dialect.checksum, covered) + context_of(dialect, begin);
}

// RocksDB stores the sequence number of an ingested table in its properties later, and leaves their checksum, which is
// that of the number 0. Returns whether `stored` has such properties, and the checksum matches that way.
bool matches_without_sequence(const Dialect& dialect, Bytes stored, Position begin) {
  constexpr std::string_view kName = "external_sst_file.global_seqno";
  constexpr std::size_t kSequenceSize = 8;
  constexpr std::size_t kMostProperties = 1 << 20;  // bytes
  if (!dialect.is_rocksdb || stored.size() > kMostProperties) return false;
  const std::string_view text = as_text(stored);
  const std::size_t name = text.find(kName);
  if (name == std::string_view::npos) return false;
  const std::size_t sequence = name + kName.size();
  if (text.size() - sequence < kSequenceSize + kTrailerSize) return false;
  std::string copy(text);
  std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(sequence), kSequenceSize, '\0');
  return checksum_matches(dialect, as_bytes(copy), begin);
}

// Fails with kLimit for a block that is larger than a compressed one may be, unless it is uncompressed.
Result<void> check_stored_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                                const Limits& limits) {
  if (place.size > limits.decoded_chunk) return too_large(place.begin, place.size, limits.decoded_chunk);
  ASSIGN_OR_RETURN(const auto number, read_exactly(context, source, place.begin + place.size, 1));
  if (number.view()[0] != std::byte{kStored}) return too_large(place.begin, place.size, limits.stored_chunk);
  return {};
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

Result<BlockContent> content_of_block(const RequestContext& context, Bytes stored, Position begin,
                                      const Dialect& dialect, const Limits& limits) {
  if (!checksum_matches(dialect, stored, begin) && !matches_without_sequence(dialect, stored, begin)) {
    return Error{Code::kDamage, begin, "the block's checksum does not match"};
  }
  const Bytes content = stored.first(stored.size() - kTrailerSize);
  if (stored[content.size()] != std::byte{0}) {
    ASSIGN_OR_RETURN(auto unpacked, unpack_block(context, stored, begin, dialect, limits));
    const Bytes bytes = unpacked.view();
    return BlockContent{bytes, std::move(unpacked)};
  }
  if (content.size() > limits.decoded_chunk) return too_large(begin, content.size(), limits.decoded_chunk);
  return BlockContent{content};
}

Result<Buffer> unpack(const RequestContext& context, std::uint8_t number, Bytes stream, const Dialect& dialect,
                      std::uint64_t limit) {
  const auto packing = packing_of(dialect, number, stream.first(std::min(stream.size(), kFirstBytes)));
  if (!packing) return Error{.code = Code::kUnsupported, .detail = name_unread(dialect, number)};
  if (!dialect.dictionary) return decompress_with(context, *packing, stream, {}, limit);
  const Dictionary& dictionary = *dialect.dictionary;
  if (!dictionary) return dictionary.error();
  return decompress_with(context, *packing, stream, dictionary->view(), limit);
}

Result<Buffer> read_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                          const Dialect& dialect, const Limits& limits) {
  if (place.size > limits.stored_chunk) TRY(check_stored_block(context, source, place, limits));
  ASSIGN_OR_RETURN(auto stored, read_exactly(context, source, place.begin, place.size + kTrailerSize));
  ASSIGN_OR_RETURN(auto content, content_of_block(context, stored.view(), place.begin, dialect, limits));
  if (stored.view()[static_cast<std::size_t>(place.size)] != std::byte{0}) return std::move(content.buffer);
  stored.truncate(static_cast<std::size_t>(place.size));
  return stored;
}

Error metadata_exceeds(Position begin, std::string_view what, std::uint64_t most) {
  return {Code::kLimit, begin,
          fmt::format("{} of the table exceeds the limit of {} bytes (see --max-chunk)", what, most)};
}

Result<Buffer> read_metadata(const RequestContext& context, const Source& source, const BlockPlace& place,
                             const Dialect& dialect, const Limits& limits, std::string_view what, std::uint64_t most) {
  Limits small = limits;
  small.decoded_chunk = most;
  auto content = read_block(context, source, place, dialect, small);
  if (content || content.error().code != Code::kLimit) return content;
  return metadata_exceeds(place.begin, what, most);
}

Result<Buffer> read_metadata(const RequestContext& context, const Source& source, const BlockPlace& place,
                             const Dialect& dialect, const Limits& limits, std::string_view what) {
  return read_metadata(context, source, place, dialect, limits, what, largest_metadata_block(place.size, limits));
}

Result<std::string_view> codec_of(const RequestContext& context, const Source& source, const BlockPlace& place,
                                  const Dialect& dialect) {
  ASSIGN_OR_RETURN(const auto number, read_exactly(context, source, place.begin + place.size, 1));
  if (number.view()[0] == std::byte{0}) return to_string(CodecId::kNone);
  ASSIGN_OR_RETURN(const auto first,
                   read_up_to(context, source, place.begin, std::min<std::uint64_t>(place.size, kFirstBytes)));
  const auto packing = packing_of(dialect, std::to_integer<std::uint8_t>(number.view()[0]), first.view());
  return packing ? to_string(packing->codec) : std::string_view("-");
}

bool can_write(const Dialect& dialect, std::string_view codec) {
  const auto number = number_of(dialect, codec);
  if (!number) return false;
  if (!dialect.is_rocksdb && codec == to_string(CodecId::kZlib)) return can_compress(CodecId::kZlib);
  const CodecId id = packing_of(dialect, *number, {})->codec;
  return can_compress(id) || (id == CodecId::kLz4Frame && is_available(id));
}

void append_place(std::string& out, const BlockPlace& place) {
  protobuf::append_varint(out, place.begin);
  protobuf::append_varint(out, place.size);
}

Result<void> append_block(std::string& out, const Dialect& dialect, std::string_view codec, CompressionLevel level,
                          Bytes content) {
  std::uint8_t number = *number_of(dialect, codec);
  const bool is_zlib = !dialect.is_rocksdb && codec == to_string(CodecId::kZlib);
  const Packing packing = is_zlib ? Packing{CodecId::kZlib} : *packing_of(dialect, number, {});
  const std::size_t begin = out.size();
  if (packing.size == StatedSize::kVarint) protobuf::append_varint(out, content.size());
  if (packing.size == StatedSize::kEightBytes) append_le(out, std::uint64_t{content.size()});
  if (packing.codec == CodecId::kLz4Frame) {
    TRY(compress_lz4_block(content, out));
  } else {
    TRY(compress(packing.codec, level, content, out));
  }
  if (number != kStored && out.size() - begin >= content.size() - content.size() / 8) {
    number = kStored;
    out.erase(begin);
    out += as_text(content);
  }
  out.push_back(static_cast<char>(number));
  append_le(out, checksum_of(dialect.checksum, as_bytes(out).subspan(begin)));
  return {};
}

void append_footer(std::string& out, const Dialect& dialect, const BlockPlace& metaindex, const BlockPlace& index) {
  std::string places;
  append_place(places, metaindex);
  append_place(places, index);
  places.resize(kPlacesSize);
  if (dialect.is_rocksdb) append_le(out, static_cast<std::uint8_t>(dialect.checksum));
  out += places;
  if (dialect.is_rocksdb) append_le(out, dialect.version);
  append_le(out, dialect.is_rocksdb ? kRocksDbMagic : kMagic);
}

}  // namespace recordfs::leveldb_table
