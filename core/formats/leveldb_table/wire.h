// The fixed structures of a table: where a block stands, what stands behind each block, the footer. FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/codec/codec.h"

namespace recordfs::leveldb_table {

// Behind each block: its compression, and a checksum over both.
inline constexpr std::uint64_t kTrailerSize = 5;
inline constexpr std::uint64_t kChecksumSize = 4;
inline constexpr std::uint64_t kFooterSize = 48;
inline constexpr std::uint64_t kRocksDbFooterSize = 53;

struct BlockPlace {
  Position begin = 0;
  std::uint64_t size = 0;  // without the trailer

  bool operator==(const BlockPlace&) const = default;
};

// Two numbers, the first of them where the block begins. Fails as the cursor does.
BlockPlace read_place(Cursor& cursor);

// Whether the block and its trailer end at `end` or before.
bool fits(const BlockPlace& place, Position end);

enum class Checksum : std::uint8_t { kNone, kCrc32c, kXxHash32, kXxHash64, kXxh3 };

// "none", "crc32c", ... Static storage.
std::string_view to_string(Checksum checksum);

// What all blocks of a file have in common.
struct Dialect {
  bool is_rocksdb = false;
  std::uint32_t version = 0;  // of the format, in RocksDB alone; 0: none is stated
  Checksum checksum = Checksum::kCrc32c;
  std::uint32_t context = 0;    // goes into each checksum together with the block's position; 0: nothing does
  bool has_dictionary = false;  // compressed blocks can't be decompressed without one
  // How far behind the place at which it was written a block stands, for a table whose front was cut off or that stands
  // behind something else.
  std::int64_t shift = 0;
};

// What is done to each checksum of a block that begins at `begin`: it is added to what the file has.
std::uint32_t context_of(const Dialect& dialect, Position begin);

// The checksum that stands behind a block, of its content's checksum `sum` and its type: in XXH3 the type goes in
// apart.
std::uint32_t with_type_apart(std::uint32_t sum, std::byte type);

// Whether the stored checksum at the end of `stored`, a block with its trailer that begins at `begin`, is the right
// one. REQUIRES: stored.size() >= kTrailerSize.
bool checksum_matches(const Dialect& dialect, Bytes stored, Position begin);

// How the decompressed size stands in front of the stream: not at all, as a varint, or as 4 bytes and 4 more that say
// nothing.
enum class StatedSize : std::uint8_t { kNone, kVarint, kEightBytes };

// How a block is compressed. Of LZ4 it is a bare block, and no frame.
struct Packing {
  CodecId codec = CodecId::kNone;
  StatedSize size = StatedSize::kNone;
};

// By the number in the block's trailer, and where that is not enough by its first bytes; nullopt for what is not known.
std::optional<Packing> packing_of(const Dialect& dialect, std::uint8_t number, Bytes first);
// How many first bytes packing_of() wants to see.
inline constexpr std::size_t kFirstBytes = 2;

struct Footer {
  Position begin = 0;
  Dialect dialect;
  BlockPlace metaindex;
  std::optional<BlockPlace> index;  // otherwise the meta index says where it is
  Position due = 0;                 // where the footer would stand by what it says
  std::string flaw;                 // why the two places can't be believed; empty where they can
  std::uint64_t stored_size = kFooterSize;

  std::uint64_t size() const { return stored_size; }
};

// The footer at the end of a file of `file_size` bytes, of which `tail` are the last: 53 of them, or all. nullopt where
// there is no magic.
std::optional<Footer> parse_footer(Bytes tail, std::uint64_t file_size);

}  // namespace recordfs::leveldb_table
