// The fixed structures of a table: the place of a block, the trailer of a block, the footer. FORMAT.md, "Layout".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/codec/codec.h"

namespace recordfs::leveldb_table {

// After each block: its compression, and a checksum over both.
inline constexpr std::uint64_t kTrailerSize = 5;
inline constexpr std::uint64_t kChecksumSize = 4;
inline constexpr std::uint64_t kFooterSize = 48;
inline constexpr std::uint64_t kRocksDbFooterSize = 53;

struct BlockPlace {
  Position begin = 0;
  std::uint64_t size = 0;  // without the trailer

  bool operator==(const BlockPlace&) const = default;
};

// Reads two numbers, the begin and the size. Fails as the cursor does.
BlockPlace read_place(Cursor& cursor);

// Returns whether the block and its trailer end at or before `end`.
bool fits(const BlockPlace& place, Position end);

enum class Checksum : std::uint8_t { kNone, kCrc32c, kXxHash32, kXxHash64, kXxh3 };

// Returns "none", "crc32c", ... Static storage.
std::string_view to_string(Checksum checksum);

// Properties shared by all blocks of a file.
struct Dialect {
  bool is_rocksdb = false;
  std::uint32_t version = 0;  // RocksDB's format version; 0: none
  Checksum checksum = Checksum::kCrc32c;
  std::uint32_t context = 0;    // added to each checksum together with the block's position; 0: none
  bool has_dictionary = false;  // compressed blocks need a dictionary
  // The distance of a block from the place at which it was written, for a table whose front was cut off or that
  // follows other data.
  std::int64_t shift = 0;
};

// Returns the number that is added to each checksum of a block that begins at `begin`.
std::uint32_t context_of(const Dialect& dialect, Position begin);

// Returns the stored checksum of a block from its content's checksum `sum` and its type, for XXH3, which does not
// include the type.
std::uint32_t with_type_apart(std::uint32_t sum, std::byte type);

// Returns whether the checksum at the end of `stored` matches. `stored` is a block with its trailer that begins at
// `begin`. REQUIRES: stored.size() >= kTrailerSize.
bool checksum_matches(const Dialect& dialect, Bytes stored, Position begin);

// The form of the decompressed size before the stream: none, a varint, or 4 bytes and 4 ignored ones.
enum class StatedSize : std::uint8_t { kNone, kVarint, kEightBytes };

// The compression of a block. LZ4 is a bare block without a frame.
struct Packing {
  CodecId codec = CodecId::kNone;
  StatedSize size = StatedSize::kNone;
};

// Returns the packing for the number in the block's trailer, using its first bytes if that is ambiguous; nullopt if
// unknown.
std::optional<Packing> packing_of(const Dialect& dialect, std::uint8_t number, Bytes first);
// Number of first bytes that packing_of() needs.
inline constexpr std::size_t kFirstBytes = 2;

struct Footer {
  Position begin = 0;
  Dialect dialect;
  BlockPlace metaindex;
  std::optional<BlockPlace> index;  // nullopt: the meta index has it
  Position due = 0;                 // expected position of the footer according to its contents
  std::string flaw;                 // why the two places are rejected; empty if they are valid
  std::uint64_t stored_size = kFooterSize;

  std::uint64_t size() const { return stored_size; }
};

// Returns the footer at the end of a file of `file_size` bytes, whose last bytes are `tail`: 53 of them, or all.
// Returns nullopt if there is no magic.
std::optional<Footer> parse_footer(Bytes tail, std::uint64_t file_size);

}  // namespace recordfs::leveldb_table
