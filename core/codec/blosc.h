// Blosc-1 chunks: a header and separately compressed inner blocks. Thread-safe.
//
// The Blosc library trusts its input, so this code first checks every number that the library would follow.
//
// Errors: kDamage for bytes that no writer produces; kUnsupported for codecs that this build or the library lacks;
// kOutOfMemory; and the errors of BloscNumberAt. Positions in errors are 0.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"

namespace recordfs {

inline constexpr std::size_t kBloscHeaderSize = 16;
// versions of format and codec: the first two bytes, little-endian
inline constexpr std::uint16_t kBloscVersions = 0x0102;
inline constexpr std::uint32_t kBloscLargest = 0x7FFFFFFF - kBloscHeaderSize;  // the most bytes that one chunk can hold

// A chunk header with a plausible extent: the chunk occupies stored_size bytes. check_blosc() validates the rest.
struct BloscHeader {
  std::uint8_t flags = 0;
  std::uint8_t typesize = 0;
  std::uint32_t size = 0;         // decoded
  std::uint32_t block_size = 0;   // decoded size of an inner block; the last one may be shorter
  std::uint32_t stored_size = 0;  // size of the chunk, header included

  // Returns whether the content is stored uncompressed, directly after the header.
  bool is_plain() const { return (flags & 0x02) != 0 || size == 0; }
  // Returns "none", "blosclz", "lz4", "snappy", "zlib", "zstd" or "unknown". The result has static storage.
  std::string_view codec() const;

  // REQUIRES, for the functions below: check_blosc() succeeded and !is_plain().
  std::uint32_t blocks() const { return (size - 1) / block_size + 1; }
  std::uint32_t decoded_size(std::uint32_t block) const;
  // Returns the number of streams that store the block.
  std::uint32_t streams(std::uint32_t block) const;
};

// Parses the header at the start of `head`. Fails with kUnfinished if there are fewer than 16 bytes.
Result<BloscHeader> parse_blosc_header(Bytes head);

// Succeeds if a decoder can use the header. Reads only the header.
Result<void> check_blosc(const BloscHeader& header);

// Returns whether this build can decode chunks that are not plain.
bool has_blosc();

// The byte range of a block within its chunk.
struct BloscExtent {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// Reads the little-endian number at an offset of the chunk; offset <= stored_size - 4.
using BloscNumberAt = std::function<Result<std::uint32_t>(std::uint32_t offset)>;

// Finds a block through the block table and the stream lengths; makes few reads. REQUIRES: check_blosc(header)
// succeeded, !is_plain(), block < blocks().
Result<BloscExtent> find_blosc_block(const BloscHeader& header, std::uint32_t block, const BloscNumberAt& number_at);
// The same in a whole chunk in memory.
Result<BloscExtent> find_blosc_block(const BloscHeader& header, std::uint32_t block, Bytes chunk);

// Decodes one block from its stored bytes into all of `out`. REQUIRES: as find_blosc_block(); out.size() is
// decoded_size(block).
Result<void> decompress_blosc_block(const RequestContext& context, const BloscHeader& header, std::uint32_t block,
                                    Bytes stored, MutableBytes out);

// Decodes a whole chunk into all of `out`, with fewer copies than block by block. Succeeds only if every block can be
// decoded; otherwise the content of `out` is unspecified, and the error names no block. Any bytes may be passed.
Result<void> decompress_blosc_chunk(const RequestContext& context, Bytes chunk, MutableBytes out);

}  // namespace recordfs
