// The fragment: the only structure of a LevelDB log. FORMAT.md, "Fragment".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/bytes.h"

namespace recordfs::leveldb_log {

inline constexpr std::uint64_t kFrameSize = 32768;
inline constexpr std::uint32_t kHeaderSize = 7;
inline constexpr std::size_t kChecksumBegin = 6;            // the checksum covers all bytes from the type on
inline constexpr std::uint8_t kLastLevelDbType = 4;         // larger types are RocksDB's
inline constexpr std::uint32_t kCompressionLength = 4;      // of a fragment that names a codec
inline constexpr std::uint32_t kRecyclableHeaderSize = 11;  // includes a log number after the type
inline constexpr std::uint32_t kSyncHeaderSize = 19;        // Pebble's: includes an offset after the log number

// The layout and checksum of a file's fragments. Other formats use the same fragments and differ only in this.
struct Wire {
  enum class Checksum : std::uint8_t {
    kMaskedCrc32c,
    kCrc32,  // zlib's, unmasked
  };
  Checksum checksum = Checksum::kMaskedCrc32c;
  bool has_rocksdb_types = true;  // whether types other than LevelDB's, 1 to 4, are known
  Position origin = 0;            // where the first frame begins
  Position first = 0;             // where the first fragment begins; in the first frame
  bool has_sync_offsets = false;  // types 9 to 12 are only Pebble's

  // REQUIRES: at >= origin.
  Position frame_begin(Position at) const { return at - (at - origin) % kFrameSize; }
  Position frame_end(Position at) const { return frame_begin(at) + kFrameSize; }
  // Returns where the first fragment of the frame at `frame` begins.
  Position first_in(Position frame) const { return frame < first ? first : frame; }
};

// The role of a fragment, independent of its header's width.
enum class Role : std::uint8_t {
  kFiller,       // type 0
  kFull,         // a whole record
  kFirst,        // the first piece of a record
  kMiddle,       // an inner piece
  kLast,         // the last piece
  kCompression,  // names the codec of all following records
  kControl,      // no record: says something of the log
  kIgnorable,    // unknown, but readers may skip it
  kUnknown,
};

// Types of fragments with kControl: the sizes of user-defined timestamps.
inline constexpr std::uint8_t kTimestampSizes = 10;
inline constexpr std::uint8_t kRecyclableTimestampSizes = 11;

struct Fragment {
  Position begin = 0;
  std::uint32_t header_size = kHeaderSize;
  std::uint32_t length = 0;  // of the payload; at most 65535 in an unverified header
  std::uint8_t type = 0;     // as stored
  Role role = Role::kUnknown;
  std::optional<std::uint32_t> log_number;  // its low half, from a recyclable header or one with an offset

  Position payload_begin() const { return begin + header_size; }
  Position end() const { return payload_begin() + length; }
  // Returns whether it is a record or a piece of one.
  bool is_data() const { return role >= Role::kFull && role <= Role::kLast; }
};

enum class Verdict : std::uint8_t {
  kSound,        // the fragment is complete and its checksum matches
  kFiller,       // type 0 and length 0: filling, whose checksum is ignored
  kShort,        // fewer bytes than a header
  kTooLong,      // the payload would end after the given bytes
  kBadChecksum,  // complete, but damaged
};

struct Parsed {
  Verdict verdict = Verdict::kShort;
  Fragment fragment;  // as far as the header could be parsed; payload, log number and role are valid only with kSound
  Bytes payload;      // with kSound
};

// Parses the fragment at `at`; `rest` are the bytes from there to the end of the frame or of the file. A fragment
// whose type requires a log number but whose checksum covers a 7-byte header is valid and of unknown type. One of types
// 9 to 12 whose checksum covers a header with an offset is Pebble's. Any thread.
Parsed parse_fragment(Bytes rest, Position at, const Wire& wire = {});

// Returns the log number in the mark with which Pebble ends a log, one more than that of the log: a header of 11 bytes
// for an empty payload, with 0 for its checksum. nullopt if `rest` does not begin with such a mark. Any thread.
std::optional<std::uint32_t> parse_end_mark(Bytes rest);
inline bool is_end_mark(Bytes rest, const Wire& wire) { return wire.has_rocksdb_types && parse_end_mark(rest); }

// The header of a fragment that is written.
struct HeaderForm {
  Wire::Checksum checksum = Wire::Checksum::kMaskedCrc32c;
  std::uint32_t size = kHeaderSize;
  std::uint32_t log_number = 0;  // if there is room for it; the offset after it is 0
};
// Returns the type of a fragment with the first or last piece of a record, or with all of it.
std::uint8_t data_type(bool is_first, bool is_last, std::uint32_t header_size);
// Appends a fragment. Throws std::bad_alloc. REQUIRES: the payload has at most 65535 bytes. Any thread.
void append_fragment(std::string& out, std::uint8_t type, Bytes payload, const HeaderForm& form);

// The size of a fragment by its length: with the header of its type, and with the other header in case the type is
// wrong.
struct StatedSizes {
  std::size_t own = 0;
  std::size_t other = 0;
};
StatedSizes stated_sizes(const Fragment& fragment);

// Returns the size of the fragment at the start of `rest` if only its length is wrong: the size with which its
// checksum matches. nullopt if there is no such size, or no header. Any thread.
std::optional<std::size_t> size_by_checksum(Bytes rest, const Wire& wire = {});

// Returns whether what is at the start of `rest`, and is no valid fragment, may have been one of the log `number`: the
// number is where a recyclable header has it, or the checksum matches with that number there, or there are zeros, as
// after the loss of an extent. Any thread.
bool may_have_been_of_log(Bytes rest, std::uint32_t number);

// Returns whether `rest` begins with a valid fragment.
inline bool is_sound(Bytes rest, const Wire& wire = {}) {
  return parse_fragment(rest, 0, wire).verdict == Verdict::kSound;
}

}  // namespace recordfs::leveldb_log
