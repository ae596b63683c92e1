// The fragment: the only structure of a LevelDB log. FORMAT.md, "Fragment".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"

namespace recordfs::leveldb_log {

inline constexpr std::uint64_t kFrameSize = 32768;
inline constexpr std::uint32_t kHeaderSize = 7;
inline constexpr std::uint8_t kLastLevelDbType = 4;         // higher ones are RocksDB's
inline constexpr std::uint32_t kCompressionLength = 4;      // of a fragment that names a codec
inline constexpr std::uint32_t kRecyclableHeaderSize = 11;  // a log number stands behind the type

// How a file's fragments are laid out and checked. Other formats than the databases' logs are made of fragments too,
// and differ in this alone.
struct Wire {
  enum class Checksum : std::uint8_t {
    kMaskedCrc32c,
    kCrc32,  // of zlib, as it is
  };
  Checksum checksum = Checksum::kMaskedCrc32c;
  bool has_rocksdb_types = true;  // whether other types are known than those of LevelDB, 1 to 4
  Position origin = 0;            // where the first frame begins
  Position first = 0;             // where the first fragment begins; in the first frame

  // REQUIRES: at >= origin.
  Position frame_begin(Position at) const { return at - (at - origin) % kFrameSize; }
  Position frame_end(Position at) const { return frame_begin(at) + kFrameSize; }
  // Where the first fragment of the frame at `frame` begins.
  Position first_in(Position frame) const { return frame < first ? first : frame; }
};

// What a fragment is for, whatever the width of its header.
enum class Role : std::uint8_t {
  kFiller,       // type 0
  kFull,         // a whole record
  kFirst,        // the first piece of a record
  kMiddle,       // an inner piece
  kLast,         // the last piece
  kCompression,  // names the codec of all records behind it
  kControl,      // of no concern to a reader of records
  kIgnorable,    // unknown, and says that readers may skip it
  kUnknown,
};

struct Fragment {
  Position begin = 0;
  std::uint32_t header_size = kHeaderSize;
  std::uint32_t length = 0;  // of the payload; at most 65535 in an unverified header
  std::uint8_t type = 0;     // as in the file
  Role role = Role::kUnknown;
  std::optional<std::uint32_t> log_number;  // low half of it, in a recyclable header

  Position payload_begin() const { return begin + header_size; }
  Position end() const { return payload_begin() + length; }
  // Whether it is a record or a piece of one.
  bool is_data() const { return role >= Role::kFull && role <= Role::kLast; }
};

enum class Verdict : std::uint8_t {
  kSound,        // the fragment is there in full and its checksum matches
  kFiller,       // type 0 and length 0: filling, whose checksum means nothing
  kShort,        // fewer bytes than a header
  kTooLong,      // the payload would end behind the bytes given
  kBadChecksum,  // all there, and not what was written
};

struct Parsed {
  Verdict verdict = Verdict::kShort;
  Fragment fragment;  // as far as the header could be read; payload, log number and role are sound with kSound alone
  Bytes payload;      // with kSound
};

// Reads the fragment at `at`, where `rest` are the bytes from there to the end of the frame or of the
// file. A fragment whose type asks for a log number but whose checksum is over a 7-byte header is sound
// and of an unknown type. Any thread.
Parsed parse_fragment(Bytes rest, Position at, const Wire& wire = {});

// How many bytes a fragment takes by its length: with the header of its type, and with the other header, if
// it is the type that is wrong.
struct StatedSizes {
  std::size_t own = 0;
  std::size_t other = 0;
};
StatedSizes stated_sizes(const Fragment& fragment);

// How many bytes of `rest` the fragment at its beginning takes if its length alone is wrong: those that its
// checksum matches. nullopt when there is no such number, or no header. Any thread.
std::optional<std::size_t> size_by_checksum(Bytes rest, const Wire& wire = {});

// Whether a sound fragment stands at the beginning of `rest`.
inline bool is_sound(Bytes rest, const Wire& wire = {}) {
  return parse_fragment(rest, 0, wire).verdict == Verdict::kSound;
}

}  // namespace recordfs::leveldb_log
