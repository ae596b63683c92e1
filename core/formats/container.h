// Container: one open file of one format, as the store sees it. The contract that every format keeps.
//
// A container is const and thread-safe. It has no position, and no cache that grows with the file;
// whoever walks it keeps the place. Four depths, each dearer than the one before, and a caller asks
// no deeper than it must: scan (headers), layout (where the records of a chunk stand), decode (the
// bytes), and verify in between where only the checksum matters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/key_change.h"
#include "core/formats/part.h"
#include "core/formats/value.h"

namespace recordfs {

// Names a place from which scan() can go on: the position, and what the format has to remember to go
// on from there. Comes from a container and goes back to the same one.
struct ChunkKey {
  Position position = 0;
  std::uint64_t state = 0;  // the format's own
  bool operator==(const ChunkKey&) const = default;
};

// What the record sizes of a chunk cost.
enum class LayoutCost : std::uint8_t {
  kSmall,   // a few bytes, or a buffer of sizes: worth paying for a listing with attributes
  kDecode,  // the whole chunk has to be decoded
};

// What a chunk's header says. Valid as a whole or not there at all.
struct ChunkInfo {
  ChunkKey key;        // scan(key) gives this chunk again; key.position == begin
  Position begin = 0;  // the chunk is the file's bytes [begin, end)
  Position end = 0;
  std::string_view kind;                      // the format's word for what it is: static storage, no white space
  std::string_view codec;                     // "none", "zstd", ...; "-" where it can't be told: static storage
  std::optional<std::uint64_t> records;       // nullopt: only layout() can tell
  std::optional<std::uint64_t> decoded_size;  // of all records; nullopt: unknown before layout() or !could_be_read()
  std::uint64_t decoded_beside = 0;           // decoded bytes that are no record's: of metadata
  std::uint64_t stored_size = 0;              // bytes of payload as they stand in the file
  LayoutCost layout_cost = LayoutCost::kSmall;
  std::array<std::uint64_t, 2> detail{};  // the format's own

  // All decoded bytes, with those that are no record's; nullopt where decoded_size is.
  std::optional<std::uint64_t> payload_size() const {
    if (!decoded_size) return std::nullopt;
    return *decoded_size + std::min(decoded_beside, UINT64_MAX - *decoded_size);
  }
};

enum class DamageClass : std::uint8_t { kDamage, kUnfinished, kStale, kUnsupported };

// The word of a class in index/damage.tsv.
std::string_view to_string(DamageClass damage_class);

// A region of the file that the header walk found unsound. begin < end.
struct DamagedRegion {
  Position begin = 0;
  Position end = 0;
  DamageClass damage_class = DamageClass::kDamage;
  std::uint64_t records_before = 0;           // records of the same step's chunk that stand before the region
  std::optional<std::uint64_t> records_lost;  // nullopt: can't be told
  std::string reason;
};

// One step of the walk: at most one chunk, with the damage met on the way to it and inside it, in
// file order. A step with neither only says how far a search has come.
struct Step {
  std::optional<ChunkInfo> chunk;
  std::vector<DamagedRegion> damage;  // regions of two steps that touch, with equal class and reason, are one
  std::optional<ChunkKey> next;       // where to go on; nullopt: the container ends here
};

// A metadata value. Keys may be any bytes and may repeat.
struct Attribute {
  std::string key;
  std::string type;   // the format's name for the value's type, "" where it has none
  std::string value;  // raw bytes
};

// A member of info.json that the format adds. Its value is known without a scan. A "version" is always a string.
struct Fact {
  std::string name;
  std::variant<std::string, std::uint64_t, bool> value;
};

// A stream that a container offers besides its records: `prefix`, and behind it all records, one after the other. So
// that each byte has its place whatever is damaged, all records but the last have one size.
struct WholeStream {
  std::string name;  // of the file that shows it
  std::string prefix;
  std::uint64_t record_size = 0;  // of each record but the last, which has what is left
  std::uint64_t size = 0;         // of the whole, prefix included
};

class Container {
 public:
  virtual ~Container() = default;

  // The format's name as in Format::name, static storage.
  virtual std::string_view format() const = 0;
  // What is known at open: version, writer, options. In the order in which info.json shows them.
  virtual std::vector<Fact> facts() const { return {}; }

  // The key of the first step.
  virtual ChunkKey first() const { return {}; }

  // Takes one step of the walk. Reads headers, and as much more as it needs to be sure of what it says.
  // Damage is part of the Step and never an error here: an error (kIo, kChanged, kOutOfMemory) says that
  // nothing can be told now. Reads about Limits::scan_bytes at the most, then returns a Step that only
  // advances. The container's order is the order of steps; a walk ends after at most size() + 1 steps.
  virtual Result<Step> scan(ChunkKey at) const = 0;

  // Whether the container's order is that of the file. Where it is not, a chunk names its successor, steps need not go
  // forward, and there is a seek structure.
  virtual bool is_in_file_order() const { return true; }

  // Whether a file of this format is written from its beginning to its end, and never before what it has already: then
  // what is complete in a file that is still being written means what it will mean in the whole.
  virtual bool grows_by_appending() const { return true; }

  // Whether locate() works without a walk from the beginning.
  virtual bool has_seek_structure() const { return false; }
  // The chunk that covers byte `at`, as a walk from the beginning would find it, found through the
  // format's seek structure in time that does not depend on the file's size; nullopt when no sound
  // chunk covers it. REQUIRES: has_seek_structure().
  virtual Result<std::optional<ChunkInfo>> locate(Position at) const;

  // Where the records of a chunk stand. Fails like decode. REQUIRES: `chunk` came from this container.
  virtual Result<Layout> layout(const ChunkInfo& chunk) const;

  // Whether every record's index is less than its chunk's length in bytes, so that begin + index is a number
  // that no other record has. False where compression can store several records in a byte.
  virtual bool index_fits_in_chunk() const { return true; }

  // Whether checksums cover what a walk goes by. Where none do, a changed byte may hide chunks and records, or change
  // where they stand, without a word.
  virtual bool headers_have_checksums() const { return true; }
  // Whether a checksum covers the records of a chunk. Where none does, verify() and decode() can only say that they
  // could be decoded.
  virtual bool has_checksum(const ChunkInfo&) const { return true; }

  // Checks the chunk's checksums without decoding it. Fails like decode, and where decode gives some of the records
  // as failed; but it need not keep the limits on what is decoded.
  virtual Result<void> verify(const ChunkInfo& chunk) const;

  // Reads, verifies, decompresses and splits a chunk. The number of records and the sum of their sizes
  // are those of `chunk`, where it has them. Fails with kDamage, kUnsupported or kLimit when none of
  // its records can be read, and with kIo, kChanged, kOutOfMemory.
  virtual Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const = 0;

  // A chunk whose bytes are verified now and read when they are asked for, for chunks that are too
  // large to hold; null where the format can't.
  virtual Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const;

  // The container's metadata. `last` is null for what is known at open; where attributes_change() it is
  // the last chunk of the walk, and the values are those in effect there.
  virtual Result<std::vector<Attribute>> attributes(const ChunkInfo* last) const;
  virtual bool attributes_change() const { return false; }
  // Metadata in effect at a chunk, for the chunk's info.json. REQUIRES: attributes_change().
  virtual Result<std::vector<Attribute>> chunk_attributes(const ChunkInfo& chunk) const;

  // Whether records have parts, which are then shown as inside/ORDINAL/.
  virtual bool has_parts() const { return false; }
  // The largest record, in bytes, whose parts are told: all of it has to be in memory then.
  virtual std::uint64_t largest_record_with_parts() const { return UINT64_MAX; }
  // The parts of a record, told from its bytes alone. Fails with kDamage when the bytes are no record of this
  // format, and with kLimit. REQUIRES: has_parts().
  virtual Result<Parts> parts(Bytes record) const;

  // Whether records can be told as values, beside their bytes.
  virtual bool has_values() const { return false; }
  // What a record says, told from its bytes alone, which have to outlive it. Fails with kDamage when the bytes are no
  // record of this kind, and with kLimit. REQUIRES: has_values().
  virtual Result<Value> value(Bytes record) const;

  // Whether records are changes to keys, whose last values are then shown as keys/KEY.
  virtual bool has_keys() const { return false; }
  // Hands out what a record changes, in the order in which it counts, told from its bytes alone. Fails with kDamage
  // when the bytes are no record of this kind, and with kLimit; nothing was handed out then. REQUIRES: has_keys().
  virtual Result<void> key_changes(Bytes record, const TakeKeyChange& take) const;

  // Returns the full name of the protobuf type of every record. Empty if the format does not state it, or if the
  // metadata that states it is damaged. Lives as long as the container. Fails only with errors that may pass, as kIo.
  virtual Result<std::string_view> record_type() const { return std::string_view(); }
  // Whether a record may be a protobuf message although nothing says so.
  virtual bool may_hold_messages() const { return true; }
  // Whether the file may carry descriptors of protobuf types.
  virtual bool has_descriptors() const { return false; }
  // Those in effect at a chunk: one serialized google.protobuf.FileDescriptorSet, any bytes, its files in any order;
  // null for none. Chunks with the same descriptors share one object as far as that can be had. Fails as attributes()
  // does. REQUIRES: has_descriptors().
  virtual Result<std::shared_ptr<const std::string>> descriptors(const ChunkInfo& chunk) const;

  // The media type of every record, where the container's metadata states it; empty where it does not. `attributes` are
  // those of attributes(). Static storage.
  virtual std::string_view record_media_type(const std::vector<Attribute>&) const { return {}; }

  // The one more stream that the container offers, known at open; null where there is none. Lives as long as it does.
  virtual const WholeStream* whole_stream() const { return nullptr; }

  // Whether the container declares a trailer, and its bytes.
  virtual bool has_trailer() const { return false; }
  virtual Result<Buffer> trailer() const;
};

}  // namespace recordfs
