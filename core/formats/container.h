// Container: one open file of one format. The contract between formats and the store.
//
// A container is const and thread-safe. It has no position and no cache that grows with the file; the caller that
// scans keeps the position. There are four levels of access, each more expensive than the previous one: scan
// (headers), layout (positions of the records in a chunk), verify (checksums) and decode (the bytes). Callers use the
// cheapest one that suffices.
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

// A position from which scan() can continue, with the state that the format needs there. Valid only for the container
// that returned it.
struct ChunkKey {
  Position position = 0;
  std::uint64_t state = 0;  // defined by the format
  bool operator==(const ChunkKey&) const = default;
};

// The cost of finding the record sizes of a chunk.
enum class LayoutCost : std::uint8_t {
  kSmall,   // a few bytes or a table of sizes: cheap enough for a listing with attributes
  kDecode,  // the whole chunk must be decoded
};

// The contents of a chunk's header.
struct ChunkInfo {
  ChunkKey key;        // scan(key) gives this chunk again; key.position == begin
  Position begin = 0;  // the chunk is the file's bytes [begin, end)
  Position end = 0;
  std::string_view kind;                 // the format's word for the kind of chunk: static storage, no white space
  std::string_view codec;                // "none", "zstd", ...; "-" if unknown: static storage
  std::optional<std::uint64_t> records;  // nullopt: layout() is needed
  std::optional<std::uint64_t>
      decoded_size;                  // sum of all record sizes; nullopt: layout() is needed, or !could_be_read()
  std::uint64_t decoded_beside = 0;  // decoded bytes that belong to no record, such as metadata
  std::uint64_t stored_size = 0;     // bytes of payload as stored
  LayoutCost layout_cost = LayoutCost::kSmall;
  std::array<std::uint64_t, 2> detail{};  // defined by the format

  // Returns the number of decoded bytes including decoded_beside; nullopt if decoded_size is.
  std::optional<std::uint64_t> payload_size() const {
    if (!decoded_size) return std::nullopt;
    return *decoded_size + std::min(decoded_beside, UINT64_MAX - *decoded_size);
  }
};

enum class DamageClass : std::uint8_t { kDamage, kUnfinished, kStale, kUnsupported };

// Returns the name of a class in index/damage.tsv.
std::string_view to_string(DamageClass damage_class);

// A region of the file that the scan found invalid. begin < end.
struct DamagedRegion {
  Position begin = 0;
  Position end = 0;
  DamageClass damage_class = DamageClass::kDamage;
  std::uint64_t records_before = 0;           // records of the same step's chunk that precede the region
  std::optional<std::uint64_t> records_lost;  // nullopt: unknown
  std::string reason;
};

// One step of a scan: at most one chunk, with the damage before and inside it, in file order. A step with neither
// chunk nor damage only reports the progress of a search.
struct Step {
  std::optional<ChunkInfo> chunk;
  std::vector<DamagedRegion> damage;  // adjacent regions of two steps with equal class and reason are one
  std::optional<ChunkKey> next;       // where to continue; nullopt: the end of the container
};

// A metadata value. Keys may be any bytes and may repeat.
struct Attribute {
  std::string key;
  std::string type;   // the format's name for the value's type, "" if it has none
  std::string value;  // raw bytes
};

// A member of info.json that the format adds. Its value is known without a scan. A "version" is always a string.
struct Fact {
  std::string name;
  std::variant<std::string, std::uint64_t, bool> value;
};

// A stream that a container offers besides its records: `prefix` followed by all records. All records but the last
// have one size, so that each byte has a fixed place whatever is damaged.
struct WholeStream {
  std::string name;  // of the file in the mount that shows it
  std::string prefix;
  std::uint64_t record_size = 0;  // of each record but the last, which has the rest
  std::uint64_t size = 0;         // of the whole stream, including the prefix
};

class Container {
 public:
  virtual ~Container() = default;

  // Returns the format's name as in Format::name. Static storage.
  virtual std::string_view format() const = 0;
  // Returns what is known at open: version, writer, options. In the order of info.json.
  virtual std::vector<Fact> facts() const { return {}; }

  // Returns the key of the first step.
  virtual ChunkKey first() const { return {}; }

  // Takes one step of a scan. Reads headers, and more only to confirm them. Damage is part of the Step and never an
  // error here. An error (kIo, kChanged, kOutOfMemory) means that no answer is possible now. Reads at most about
  // Limits::scan_bytes, then returns a Step that only advances. The order of steps is the container's order. A scan
  // ends after at most size() + 1 steps.
  virtual Result<Step> scan(ChunkKey at) const = 0;

  // Returns whether the container's order is file order. If not, each chunk names its successor, steps need not go
  // forward, and there is a seek structure.
  virtual bool is_in_file_order() const { return true; }

  // Returns whether writers of this format only append. Then complete chunks of a file that is still being written
  // keep their meaning.
  virtual bool grows_by_appending() const { return true; }

  // Returns whether locate() works without a scan from the beginning.
  virtual bool has_seek_structure() const { return false; }
  // Returns the chunk that covers byte `at`, the same that a scan from the beginning finds; nullopt if no valid chunk
  // covers it. Uses the format's seek structure, in time independent of the file's size. REQUIRES:
  // has_seek_structure().
  virtual Result<std::optional<ChunkInfo>> locate(Position at) const;

  // Returns the positions of a chunk's records. Fails like decode. REQUIRES: `chunk` came from this container.
  virtual Result<Layout> layout(const ChunkInfo& chunk) const;

  // Returns whether every record's index is less than its chunk's length in bytes, so that begin + index is unique to
  // each record. False if compression can store several records in a byte.
  virtual bool index_fits_in_chunk() const { return true; }

  // Returns whether checksums cover everything that a scan relies on. If not, a changed byte may hide or move chunks
  // and records without being detected.
  virtual bool headers_have_checksums() const { return true; }
  // Returns whether a checksum covers the records of a chunk. If not, success of verify() and decode() means only
  // that the records could be decoded.
  virtual bool has_checksum(const ChunkInfo&) const { return true; }

  // Verifies the chunk's checksums without decoding it. Fails like decode, and also if decode would return some
  // records as failed. Need not apply the limits on decoded data.
  virtual Result<void> verify(const ChunkInfo& chunk) const;

  // Reads, verifies, decompresses and splits a chunk. The number of records and the sum of their sizes match `chunk`
  // if it has them. Fails with kDamage, kUnsupported or kLimit if none of its records can be read, and with kIo,
  // kChanged, kOutOfMemory.
  virtual Result<std::shared_ptr<const Chunk>> decode(const ChunkInfo& chunk) const = 0;

  // Returns a chunk that is verified now and read on demand, for chunks too large for memory; null if the format does
  // not support that.
  virtual Result<std::shared_ptr<const Chunk>> decode_by_parts(const ChunkInfo& chunk) const;

  // Returns the container's metadata. If `last` is null, returns what is known at open. Otherwise `last` is the last
  // chunk of the scan and attributes_change() is true; returns the values in effect there.
  virtual Result<std::vector<Attribute>> attributes(const ChunkInfo* last) const;
  virtual bool attributes_change() const { return false; }
  // Returns the metadata in effect at a chunk, for the chunk's info.json. REQUIRES: attributes_change().
  virtual Result<std::vector<Attribute>> chunk_attributes(const ChunkInfo& chunk) const;

  // Returns whether records have parts, which are shown as inside/ORDINAL/.
  virtual bool has_parts() const { return false; }
  // Returns the largest record, in bytes, whose parts are shown. The whole record must be in memory for that.
  virtual std::uint64_t largest_record_with_parts() const { return UINT64_MAX; }
  // Returns the parts of a record, from its bytes alone. Fails with kDamage if the bytes are not a record of this
  // format, and with kLimit. REQUIRES: has_parts().
  virtual Result<Parts> parts(Bytes record) const;

  // Returns whether records can be converted to a Value.
  virtual bool has_values() const { return false; }
  // Converts a record to a Value, from its bytes alone. The result points into `record`. Fails with kDamage if the
  // bytes are not a record of this kind, and with kLimit. REQUIRES: has_values().
  virtual Result<Value> value(Bytes record) const;

  // Returns whether records are changes to keys, whose last values are shown as keys/KEY.
  virtual bool has_keys() const { return false; }
  // Passes each change of a record to `take`, in the order in which they take effect, from the record's bytes alone.
  // Fails with kDamage if the bytes are not a record of this kind, and with kLimit; then `take` was not called.
  // REQUIRES: has_keys().
  virtual Result<void> key_changes(Bytes record, const TakeKeyChange& take) const;

  // Returns the full name of the protobuf type of every record. Empty if the format does not state it, or if the
  // metadata that states it is damaged. Valid as long as the container. Fails only with errors that may pass, as kIo.
  virtual Result<std::string_view> record_type() const { return std::string_view(); }
  // Returns whether records without a declared type may be protobuf messages.
  virtual bool may_hold_messages() const { return true; }
  // Returns whether the file may contain descriptors of protobuf types.
  virtual bool has_descriptors() const { return false; }
  // Returns the descriptors in effect at a chunk: one serialized google.protobuf.FileDescriptorSet, unverified, its
  // files in any order; null for none. Chunks with the same descriptors share one object if possible. Fails as
  // attributes() does. REQUIRES: has_descriptors().
  virtual Result<std::shared_ptr<const std::string>> descriptors(const ChunkInfo& chunk) const;

  // Returns the media type of every record if the container's metadata states it; empty otherwise. `attributes` is
  // the result of attributes(). Static storage.
  virtual std::string_view record_media_type(const std::vector<Attribute>&) const { return {}; }

  // Returns the additional stream of this container, known at open; null if there is none. Valid as long as the
  // container.
  virtual const WholeStream* whole_stream() const { return nullptr; }

  // Return whether the container declares a trailer, and the trailer's bytes.
  virtual bool has_trailer() const { return false; }
  virtual Result<Buffer> trailer() const;
};

}  // namespace recordfs
