// The fixed structures of a table: the place of a block, the trailer of a block, the footer. FORMAT.md, "Layout".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/codec/codec.h"
#include "core/codec/compress.h"

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

// The dictionary with which blocks were compressed, or why it cannot be read.
using Dictionary = Result<Buffer>;

// Properties shared by all blocks of a file.
struct Dialect {
  bool is_rocksdb = false;
  std::uint32_t version = 0;  // RocksDB's format version; 0: none
  Checksum checksum = Checksum::kCrc32c;
  std::uint32_t context = 0;                       // added to each checksum together with the block's position; 0: none
  std::shared_ptr<const Dictionary> dictionary{};  // that compressed blocks need; null: none
  // The distance of a block from the place at which it was written, for a table whose front was cut off or that
  // follows other data.
  std::int64_t shift = 0;
};

// Returns the number that is added to each checksum of a block that begins at `begin`.
std::uint32_t context_of(const Dialect& dialect, Position begin);

// Returns the stored checksum of a block from its content's checksum `sum` and its type, for XXH3, which does not
// include the type.
std::uint32_t with_type_apart(std::uint32_t sum, std::byte type);

struct Footer {
  Position begin = 0;
  Dialect dialect;
  BlockPlace metaindex;
  std::optional<BlockPlace> index;  // nullopt: the meta index has it
  Position due = 0;                 // expected position of the footer according to its contents
  std::string flaw;                 // why the two places are rejected; empty if they are valid
  Code flaw_code = Code::kDamage;   // kUnsupported: of a later version
  std::uint64_t stored_size = kFooterSize;

  std::uint64_t size() const { return stored_size; }
};

// Returns the footer at the end of a file of `file_size` bytes, whose last bytes are `tail`: 53 of them, or all.
// Returns nullopt if there is no magic.
std::optional<Footer> parse_footer(Bytes tail, std::uint64_t file_size);

// The content of a block in memory.
struct BlockContent {
  Bytes bytes;
  Buffer buffer{};  // holds the bytes if they were compressed
};

// Verifies and unpacks a block with its trailer, which begins at `begin`. The result is part of `stored` unless it was
// compressed. Fails with kDamage, kUnsupported (its compression) and kLimit, always with the block's position. Any
// thread. REQUIRES: stored.size() >= kTrailerSize.
Result<BlockContent> content_of_block(const RequestContext& context, Bytes stored, Position begin,
                                      const Dialect& dialect, const Limits& limits);

// Decompresses bytes of the compression `number`, as in the trailer of a block of this dialect. Fails as
// content_of_block() does, without a position.
Result<Buffer> unpack(const RequestContext& context, std::uint8_t number, Bytes stream, const Dialect& dialect,
                      std::uint64_t limit);

// Returns the content of the block at `place`. Uncompressed blocks may have as many bytes as decompressed ones. Fails
// with kDamage, kUnsupported (its compression), kLimit, and as Source does, always with the block's position. Any
// thread. REQUIRES: the block and its trailer fit the source.
Result<Buffer> read_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                          const Dialect& dialect, const Limits& limits);

// The same for a block of metadata of at most `most` decoded bytes. If it has more, fails with kLimit, and the error
// names `what` ("the dictionary"), the limit and the option that raises it.
Result<Buffer> read_metadata(const RequestContext& context, const Source& source, const BlockPlace& place,
                             const Dialect& dialect, const Limits& limits, std::string_view what, std::uint64_t most);
// Uses largest_metadata_block().
Result<Buffer> read_metadata(const RequestContext& context, const Source& source, const BlockPlace& place,
                             const Dialect& dialect, const Limits& limits, std::string_view what);

// Returns kLimit for metadata of a table that needs more than `most` bytes.
Error metadata_exceeds(Position begin, std::string_view what, std::uint64_t most);

// --- for writing

// Returns whether blocks of the dialect can be written in a codec, whose name is that of codec_of().
bool can_write(const Dialect& dialect, std::string_view codec);

// Appends a place, as read_place() reads it.
void append_place(std::string& out, const BlockPlace& place);

// Appends a block with its trailer. As in LevelDB and RocksDB, a block that would hardly be smaller is not compressed.
// Fails as compress(). REQUIRES: can_write() and a dialect without a context.
Result<void> append_block(std::string& out, const Dialect& dialect, std::string_view codec, CompressionLevel level,
                          Bytes content);

// Appends a footer, from which parse_footer() reads the dialect and the places. REQUIRES: a version of RocksDB
// before 6.
void append_footer(std::string& out, const Dialect& dialect, const BlockPlace& metaindex, const BlockPlace& index);

// --- for reading

// Returns the codec in the block's trailer, "-" if unknown. Static storage. Fails as Source does.
Result<std::string_view> codec_of(const RequestContext& context, const Source& source, const BlockPlace& place,
                                  const Dialect& dialect);

}  // namespace recordfs::leveldb_table
