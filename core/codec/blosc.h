// Blosc-1 chunks: a header, and inner blocks that are compressed each for itself. Any thread.
//
// The library that decodes them trusts what it reads, so everything that it would follow is checked here first.
// Errors: kDamage for bytes that no writer makes, kUnsupported for codecs that this build or the library has not got,
// kOutOfMemory, and whatever a reader of numbers fails with. Positions in errors are 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

inline constexpr std::size_t kBloscHeaderSize = 16;
inline constexpr std::uint16_t kBloscVersions = 0x0102;  // of format and codec, its first two bytes, little-endian
inline constexpr std::uint32_t kBloscLargest = 0x7FFFFFFF - kBloscHeaderSize;  // bytes that one chunk can hold

// The header of a chunk whose extent can be believed: [0, stored_size) of its bytes. What stands inside is another
// matter: check_blosc().
struct BloscHeader {
  std::uint8_t flags = 0;
  std::uint8_t typesize = 0;
  std::uint32_t size = 0;         // decoded
  std::uint32_t block_size = 0;   // of a decoded inner block, but for a shorter last one
  std::uint32_t stored_size = 0;  // of the chunk, header included

  // Whether the decoded bytes stand in the file as they are, right behind the header.
  bool is_plain() const { return (flags & 0x02) != 0 || size == 0; }
  // "none", "blosclz", "lz4", "snappy", "zlib", "zstd", or "unknown". Static storage.
  std::string_view codec() const;

  // The rest is for a header that check_blosc() has passed, and not for plain ones.
  std::uint32_t blocks() const { return (size - 1) / block_size + 1; }
  std::uint32_t decoded_size(std::uint32_t block) const;
  // In how many streams a block is stored.
  std::uint32_t streams(std::uint32_t block) const;
};

// Reads the header at the begin of `head`. Fails with kUnfinished when there are less than 16 bytes.
Result<BloscHeader> parse_blosc_header(Bytes head);

// Whether the header is one that a decoder can follow. Needs the header alone.
Result<void> check_blosc(const BloscHeader& header);

// Whether this build decodes what is not plain.
bool has_blosc();

// Where a block stands in its chunk.
struct BloscExtent {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// The little-endian number at an offset of the chunk that is at most stored_size - 4.
using BloscNumberAt = std::function<Result<std::uint32_t>(std::uint32_t offset)>;

// Follows the table of blocks and the lengths of the streams, which are a few numbers. REQUIRES: check_blosc(header),
// not plain, block < blocks().
Result<BloscExtent> find_blosc_block(const BloscHeader& header, std::uint32_t block, const BloscNumberAt& number_at);

// Decodes one block out of its stored bytes into the whole of `out`. REQUIRES: as before; out.size() is
// decoded_size(block).
Result<void> decompress_blosc_block(const BloscHeader& header, std::uint32_t block, Bytes stored, MutableBytes out);

}  // namespace recordfs
