// The headers of a Bloscpack file as stored. FORMAT.md, "Headers".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/hash/digest.h"

namespace recordfs::bloscpack {

inline constexpr std::size_t kLargestHeader = 32;
inline constexpr std::size_t kMetadataHeaderSize = 32;
inline constexpr std::uint64_t kOffsetSize = 8;
inline constexpr std::int64_t kUnknown = -1;

// Positions of header fields with a count or a size, for regions of damage.
inline constexpr Position kChunkSizeField = 8;
inline constexpr Position kChunksField = 16;
inline constexpr Position kSpareField = 24;

// Returns the file's first bytes.
std::string_view magic();

enum class Dialect : std::uint8_t {
  kVersion0,  // a count and chunks
  kVersion1,  // the same, with a version
  kVersion2,  // offsets and checksums
  kVersion3,  // metadata and spare offsets
  kVariable,  // the proposal: items of any size, each at its offset
};

// Numbers as stored: -1 is unknown, and smaller values are invalid but tolerated by some readers.
struct FileHeader {
  Dialect dialect = Dialect::kVersion3;
  std::uint8_t version = 0;
  std::size_t size = kLargestHeader;
  bool has_offsets = false;
  bool has_metadata = false;
  std::optional<DigestId> digest;  // of each chunk; nullopt: none
  std::uint8_t typesize = 0;       // a hint; each chunk has its own
  std::int32_t chunk_size = kUnknown;
  std::int32_t last_chunk = kUnknown;
  std::int64_t chunks = kUnknown;
  std::int64_t spare_offsets = 0;  // free ones after those of the chunks
  std::int32_t metadata_size = 0;  // kVariable only

  std::size_t digest_bytes() const { return digest ? digest_size(*digest) : 0; }

  // Returns the number of offsets; nullopt if that is unknown or meaningless.
  std::optional<std::uint64_t> declared_offsets() const {
    if (chunks < 0 || spare_offsets < 0) return std::nullopt;
    return static_cast<std::uint64_t>(chunks) + static_cast<std::uint64_t>(spare_offsets);
  }
};

// Parses the header at the start of `head`, the file's first bytes, up to kLargestHeader + 16 of them. Fails with
// kUnfinished if the file ends inside the header, with kUnsupported for unknown versions, options and checksums, and
// with kDamage. The error's position is that of the field.
Result<FileHeader> parse_file_header(Bytes head, std::uint64_t file_size);

// Returns the bytes of a header. REQUIRES: header.dialect is Dialect::kVersion3 or kVariable.
std::string file_header_bytes(const FileHeader& header);

// The header of the metadata of a version 3 file.
struct MetadataHeader {
  bool is_json = false;
  std::optional<DigestId> digest;
  std::uint8_t codec = 0;
  std::uint32_t size = 0;         // decoded
  std::uint32_t room = 0;         // reserved for it in the file
  std::uint32_t stored_size = 0;  // used of that
};

// Fails with kUnfinished if `head` is shorter than kMetadataHeaderSize. Fails with kUnsupported for an unknown
// checksum, because then the end of the section is unknown.
Result<MetadataHeader> parse_metadata_header(Bytes head);

}  // namespace recordfs::bloscpack
