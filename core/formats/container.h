// Container: one open file of one format. The contract between formats and the store.
//
// A container is const and thread-safe. It has no position and no cache that grows with the file; the caller that
// scans keeps the position. There are four levels of access, each more expensive than the previous one: scan
// (headers), layout (positions of the records in a chunk), verify (checksums) and decode (the bytes). Callers use the
// cheapest one that suffices.
//
// A new format implements traits(), scan() and decode(); everything else has a default. It also needs a Format
// (registry.h) in the list of formats.cc. Functions that read may also fail with kPending and kInterrupted, as Source
// does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/bulk.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/formats/value.h"

namespace recordfs {

// A metadata value. Keys may be any bytes and may repeat.
struct Attribute {
  std::string key;
  std::string type;                       // the format's name for the value's type, "" if it has none
  std::string value;                      // raw bytes
  std::optional<std::uint64_t> number{};  // the value, if its bytes are a binary number
};

// The attributes that are short enough to be repeated in each record of a chunk.
class ShortAttributes {
 public:
  struct View {
    std::string_view key, type{}, value;
  };

  // `most_bytes`: of keys and values together.
  explicit ShortAttributes(std::uint64_t most_bytes) : left_(most_bytes) {}
  // Adds an attribute if it fits, and otherwise counts it.
  void add(const View& attribute);

  // In the order in which they were added.
  const std::vector<Attribute>& attributes() const { return attributes_; }
  std::uint64_t omitted() const { return omitted_; }

 private:
  std::vector<Attribute> attributes_;
  std::uint64_t left_;
  std::uint64_t omitted_ = 0;
};

// The metadata of one container, read on demand. Const and thread-safe, lives as long as the container. All functions
// but varies() and has_descriptors() may read; they fail with kDamage, kUnsupported or kLimit if the metadata cannot
// be read, and with kIo, kChanged, kOutOfMemory.
class Metadata {
 public:
  virtual ~Metadata() = default;

  // Returns the container's metadata. If `last` is null, returns what is known at open. Otherwise `last` is the last
  // chunk of the scan and varies() is true; returns the values in effect there.
  virtual Result<std::vector<Attribute>> attributes(const RequestContext& context, const ChunkInfo* last) const = 0;

  // Returns whether the metadata changes along the file.
  virtual bool varies() const { return false; }
  // Returns the metadata in effect at a chunk, for the chunk's info.json.
  virtual Result<std::vector<Attribute>> attributes_at(const RequestContext& context, const ChunkInfo&) const {
    return attributes(context, nullptr);
  }
  // The same, but only attributes that are short. A container whose metadata may be large copies no others.
  virtual Result<ShortAttributes> short_attributes_at(const RequestContext& context, const ChunkInfo& chunk,
                                                      std::uint64_t most_bytes) const;

  // Returns the full name of the protobuf type of every record. Empty if the container does not state it, or if the
  // metadata that states it is damaged. Valid as long as the container. Fails only with errors that may pass, as kIo.
  virtual Result<std::string_view> record_type(const RequestContext&) const { return std::string_view(); }
  // Returns the media type of every record if the container states it; empty otherwise. Static storage.
  virtual Result<std::string_view> record_media_type(const RequestContext&) const { return std::string_view(); }

  // Returns whether the file may contain descriptors of protobuf types.
  virtual bool has_descriptors() const { return false; }
  // Returns the descriptors in effect at a chunk: one serialized google.protobuf.FileDescriptorSet, unverified, its
  // files in any order; null for none. Chunks with the same descriptors share one object if possible.
  virtual Result<std::shared_ptr<const std::string>> descriptors(const RequestContext&, const ChunkInfo&) const {
    return std::shared_ptr<const std::string>();
  }
};

// Functions of a record's bytes alone: they read nothing else, and any thread may call them. A null function means that
// the records have no such form. They fail with kDamage if the bytes are not a record of this kind, and with kLimit.
struct RecordSchema {
  // Converts a record to a Value, which points into `record`.
  std::function<Result<Value>(Bytes record, ValueForm form)> value{};

  // Returns the full name of the protobuf type of a record's value, which value() made for JSON; empty: it has none.
  // None: no value has a type.
  std::function<std::string_view(const Value& value)> type{};

  // Which records have parts, which are shown as inside/ORDINAL/. A record that is not of this kind has none if they
  // are optional, and is damage otherwise.
  enum class Parts : std::uint8_t { kNone, kOptional, kRequired };
  Parts parts = Parts::kNone;
  // The largest record, in bytes, whose parts are shown. The whole record must be in memory for that.
  std::uint64_t largest_record_with_parts = UINT64_MAX;

  // Passes the kind of each change that a record makes to the keys of a database. Not null: the container is a log, a
  // table or a blob file, whose last values database::Database returns. If it fails, `take` was not called.
  std::function<Result<void>(Bytes record, const TakeChangeKind& take)> change_kinds{};

  // Whether records without a declared type may be protobuf messages.
  bool may_be_message = true;
};

// A member of info.json that the format adds. Its value is known without a scan. A "version" is always a string.
struct Fact {
  std::string name;
  std::variant<std::string, std::uint64_t, bool> value;
};

// A numpy array whose elements are the container's records. All records but the last have one size, so that each byte
// has a fixed place whatever is damaged.
struct DenseArray {
  std::string name;               // of the file in the mount that shows it
  std::string header;             // bytes of the file before the first record
  std::uint64_t record_size = 0;  // of each record but the last, which has the rest
  std::uint64_t size = 0;         // of the whole file, including the header
};

// What is known when a container is open, and never changes.
struct ContainerTraits {
  std::string_view format;       // Format::name: static storage
  std::vector<Fact> facts{};     // version, writer, options: in the order of info.json
  ChunkKey first{};              // of the first step of a scan
  bool is_in_file_order = true;  // otherwise ChunkKey::state is a chunk's number, and there is a seek structure
  // Writers of this format only append, so complete chunks of a file that is still being written keep their meaning.
  bool grows_by_appending = true;
  bool has_seek_structure = false;  // locate() works without a scan from the beginning
  // Every record's index is less than its chunk's length in bytes, so begin + index is unique to each record. False if
  // compression can store several records in a byte.
  bool index_fits_in_chunk = true;
  // Checksums cover everything that a scan relies on. If not, a changed byte may hide or move chunks and records
  // without being detected.
  bool headers_have_checksums = true;
  bool records_have_checksums = true;  // a checksum covers each record, unless its Layout denies it
  // The beginning of a file tells how many chunks it has, so a region at a truncated end tells exactly what is lost.
  bool begin_tells_count = false;
  std::optional<DenseArray> array{};  // nullopt: the records are not the elements of one
};

// What success of verify() means.
enum class Verification : std::uint8_t {
  kVerified,    // a checksum covers the chunk's records
  kNoChecksum,  // the records can be decoded; nothing more is known
};

// Reads the bytes of a container's trailer. Fails as decode().
using TrailerReader = std::function<Result<Buffer>(const RequestContext& context)>;

// A chunk that has a certain record.
struct LocatedRecord {
  ChunkInfo chunk;
  std::uint64_t first_ordinal = 0;  // of the chunk's first record
};

class FieldProjection;

class Container {
 public:
  virtual ~Container() = default;

  virtual const ContainerTraits& traits() const = 0;

  // Takes one step of a scan. Reads headers, and more only to confirm them. Damage is part of the Step and never an
  // error here. An error (kIo, kChanged, kOutOfMemory) means that no answer is possible now. Reads at most about
  // Limits::scan_bytes, then returns a Step that only advances. The order of steps is the container's order. A scan
  // ends after at most size() + 1 steps.
  virtual Result<Step> scan(const RequestContext& context, ChunkKey at) const = 0;

  // Returns the chunk that covers byte `at`, the same that a scan from the beginning finds; nullopt if no valid chunk
  // covers it. Uses the format's seek structure, in time independent of the file's size. The default finds nothing.
  // REQUIRES: traits().has_seek_structure.
  virtual Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const;

  // Returns the chunk with the record of this ordinal, and reads only that chunk's header, if the seek structure counts
  // records and the chunk is as it says; nullopt if a scan has to find the chunk. The default finds nothing.
  virtual Result<std::optional<LocatedRecord>> locate_record(const RequestContext& context,
                                                             std::uint64_t ordinal) const;

  // Returns the positions of a chunk's records. Fails like decode. REQUIRES: `chunk` came from this container. The
  // default decodes.
  virtual Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const;

  // Verifies the chunk's checksums without decoding it. Fails like decode, and also if decode would return some
  // records as failed. Need not apply the limits on decoded data. The default decodes, and claims no checksum.
  virtual Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const;

  // Reads, verifies, decompresses and splits a chunk. The number of records and the sum of their sizes match `chunk`
  // if it has them. Fails with kDamage, kUnsupported or kLimit if none of its records can be read, and with kIo,
  // kChanged, kOutOfMemory.
  virtual Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const = 0;

  // As decode(), for a caller that needs only some fields of records that are protobuf messages. May leave out other
  // fields; then the sizes do not match `chunk`, and only the checksums find damage in what is left out. The default
  // decodes.
  virtual Result<std::shared_ptr<const Chunk>> decode_fields(const RequestContext& context, const ChunkInfo& chunk,
                                                             const FieldProjection& fields) const;

  // Returns a chunk that is verified now and read on demand, for chunks too large for memory; null if the format does
  // not support that.
  virtual Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                             const ChunkInfo& chunk) const;

  // What the container has beyond its records; null: it has none. Valid as long as the container.
  virtual const Metadata* metadata() const { return nullptr; }
  virtual const TrailerReader* trailer() const { return nullptr; }
  virtual const BulkReader* bulk() const { return nullptr; }

  // Returns what the records mean. By default nothing is known of them. Valid as long as the container.
  virtual const RecordSchema& schema() const;
};

// A container over another one. A derived class overrides what it changes.
class ForwardingContainer : public Container {
 public:
  explicit ForwardingContainer(std::unique_ptr<const Container> below) : below_(std::move(below)) {}

  const ContainerTraits& traits() const override { return below_->traits(); }
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override { return below_->scan(context, at); }
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    return below_->locate(context, at);
  }
  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    return below_->layout(context, chunk);
  }
  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    return below_->verify(context, chunk);
  }
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    return below_->decode(context, chunk);
  }
  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    return below_->open_in_place(context, chunk);
  }
  const Metadata* metadata() const override { return below_->metadata(); }
  const TrailerReader* trailer() const override { return below_->trailer(); }
  const BulkReader* bulk() const override { return below_->bulk(); }
  const RecordSchema& schema() const override { return below_->schema(); }

 protected:
  const Container& below() const { return *below_; }

 private:
  const std::unique_ptr<const Container> below_;
};

}  // namespace recordfs
