// The fixed structures of a blob file: its header, the header of a record, its footer. FORMAT.md, "Layout".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/codec/codec.h"
#include "core/formats/framed.h"

namespace recordfs::rocksdb_blob {

inline constexpr std::uint64_t kFileHeaderSize = 30;
inline constexpr std::uint64_t kRecordHeaderSize = 32;
inline constexpr std::uint64_t kFooterSize = 32;

inline constexpr std::size_t kMagicSize = 8;  // the magic, and the version

// Returns how many of the first kMagicSize bytes match those of every blob file, up to the first that does not. Any
// thread.
std::size_t matching_magic(Bytes head);

// The header of a file. No checksum covers it.
struct FileHeader {
  bool is_intact = true;  // the magic and the version are right
  std::uint32_t column_family = 0;
  bool has_ttl = false;          // values expire
  std::uint8_t compression = 0;  // of all values, RocksDB's number
};

// Returns nullopt if more than one byte of the magic and the version is wrong, or if `head` is shorter than
// kFileHeaderSize. Any thread.
std::optional<FileHeader> parse_file_header(Bytes head);

// Returns the number of records in a footer; nullopt if its checksum does not match, or for another size than
// kFooterSize. Any thread.
std::optional<std::uint64_t> parse_footer(Bytes footer);

// The header of a record, which the key and the value follow.
struct RecordHeader {
  std::uint64_t key_size = 0;
  std::uint64_t value_size = 0;  // as stored
  std::uint32_t checksum = 0;    // of key and value

  // Returns whether the record has at most `room` bytes.
  bool fits(std::uint64_t room) const;
  // Returns the size of the record. REQUIRES: fits() for the bytes of some file.
  std::uint64_t size() const { return kRecordHeaderSize + key_size + value_size; }
};

// Returns nullopt if the checksum does not match, or if `header` is shorter than kRecordHeaderSize. Any thread.
std::optional<RecordHeader> parse_record_header(Bytes header);

struct Record {
  Bytes key;
  Bytes value;  // as stored
};

// Verifies `stored`, which is one record. Fails with kDamage. Any thread.
Result<Record> check_record(Bytes stored);

// Returns the codec of a compression; nullopt for one that recordfs does not read.
std::optional<CodecId> codec_of(std::uint8_t compression);

// The most bytes that decoded_size() needs.
inline constexpr std::size_t kMostSizeBytes = 5;

// Returns the declared size of a compressed value that begins with `front`; nullopt if it has none, or for a
// compression that recordfs does not read. REQUIRES: compression != 0.
std::optional<std::uint64_t> decoded_size(std::uint8_t compression, Bytes front);

// Returns the value whose compressed form is `stored`. Fails with kDamage, kUnsupported (its compression), kLimit and
// kOutOfMemory. REQUIRES: compression != 0.
Result<Buffer> decompress_value(const RequestContext& context, std::uint8_t compression, Bytes stored,
                                std::uint64_t limit);

// As FramedWire.
struct Wire {
  static constexpr std::uint64_t kHeaderSize = kRecordHeaderSize;
  static constexpr std::uint64_t kLeastSize = kRecordHeaderSize;
  static constexpr bool kConfirmsByContent = false;
  using Header = RecordHeader;

  static bool may_be_header(const std::byte* bytes, std::uint64_t most) {
    return load_le<std::uint64_t>(bytes) <= most && load_le<std::uint64_t>(bytes + 8) <= most;
  }
  static std::optional<Header> parse(Bytes bytes) { return parse_record_header(bytes); }
  static std::optional<Header> corrected(Bytes bytes, std::uint64_t room);
  static Result<bool> is_sound(const RequestContext& context, const Source& source, Position at, const Header& header);
  // The beginning of a compressed value states its size.
  Result<std::uint64_t> shown_size(const RequestContext& context, WindowedReader& headers, Position at,
                                   const Header& header) const;
  static Error wrong_content(Position begin, Position) {
    return {Code::kDamage, begin, "a record that does not match its checksum"};
  }

  // Returns the size of a record as shown; 1 for one that cannot be read. `front`: the first kMostSizeBytes of the
  // value, if it is compressed.
  std::uint64_t shown_size(const Header& header, Bytes front) const;
  // Returns whether values are stored without compression.
  bool are_stored() const { return compression == 0; }

  std::optional<std::uint8_t> compression{};  // of all values, RocksDB's number; nullopt: unknown
};

}  // namespace recordfs::rocksdb_blob
