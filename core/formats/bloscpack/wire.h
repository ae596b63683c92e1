// The headers of a Bloscpack file as they stand on the disk. FORMAT.md, "Headers".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/hash/digest.h"

namespace recordfs::bloscpack {

inline constexpr std::size_t kLargestHeader = 32;
inline constexpr std::size_t kMetadataHeaderSize = 32;
inline constexpr std::uint64_t kOffsetSize = 8;
inline constexpr std::int64_t kUnknown = -1;

// Where fields stand that a count or a size of the header is read from, for regions of damage.
inline constexpr Position kChunkSizeField = 8;
inline constexpr Position kChunksField = 16;
inline constexpr Position kSpareField = 24;

// The file's first bytes.
std::string_view magic();

enum class Dialect : std::uint8_t {
  kVersion0,  // a count and chunks
  kVersion1,  // the same with a version
  kVersion2,  // offsets and checksums
  kVersion3,  // metadata, and offsets that are kept free
  kVariable,  // the proposal: items of any size, each where its offset says
};

// Numbers as the file has them: -1 is unknown, and anything below it is nonsense that some readers live with.
struct FileHeader {
  Dialect dialect = Dialect::kVersion3;
  std::uint8_t version = 0;
  std::size_t size = kLargestHeader;
  bool has_offsets = false;
  bool has_metadata = false;
  std::optional<DigestId> digest;  // of each chunk; nullopt: none
  std::uint8_t typesize = 0;       // a hint: chunks have their own
  std::int32_t chunk_size = kUnknown;
  std::int32_t last_chunk = kUnknown;
  std::int64_t chunks = kUnknown;
  std::int64_t spare_offsets = 0;  // kept free behind those of the chunks
  std::int32_t metadata_size = 0;  // kVariable alone

  std::size_t digest_bytes() const { return digest ? digest_size(*digest) : 0; }
};

// Reads the header at the begin of `head`, which is the file's first bytes, as many as there are up to
// kLargestHeader + 16. Fails with kUnfinished where the file ends inside it, with kUnsupported for versions, options
// and checksums that are not known, and with kDamage. Position is the field's.
Result<FileHeader> parse_file_header(Bytes head, std::uint64_t file_size);

// What stands before the metadata of a version 3 file.
struct MetadataHeader {
  bool is_json = false;
  std::optional<DigestId> digest;
  std::uint8_t codec = 0;
  std::uint32_t size = 0;         // decoded
  std::uint32_t room = 0;         // kept for it in the file
  std::uint32_t stored_size = 0;  // used of that
};

// Fails with kUnfinished where `head` is shorter than kMetadataHeaderSize, with kUnsupported for a checksum that is not
// known: then it is not known where the section ends.
Result<MetadataHeader> parse_metadata_header(Bytes head);

}  // namespace recordfs::bloscpack
