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
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/formats/metadata.h"
#include "core/formats/record_schema.h"

namespace recordfs {

// A member of info.json that the format adds. Its value is known without a scan. A "version" is always a string.
struct Fact {
  std::string name;
  std::variant<std::string, std::uint64_t, bool> value;
};

// What is known when a container is open, and never changes.
struct ContainerTraits {
  std::string_view format;       // Format::name: static storage
  std::vector<Fact> facts{};     // version, writer, options: in the order of info.json
  ChunkKey first{};              // of the first step of a scan
  bool is_in_file_order = true;  // otherwise chunks name their successors, and there is a seek structure
  // Writers of this format only append, so complete chunks of a file that is still being written keep their meaning.
  bool grows_by_appending = true;
  bool has_seek_structure = false;  // locate() works without a scan from the beginning
  // Every record's index is less than its chunk's length in bytes, so begin + index is unique to each record. False if
  // compression can store several records in a byte.
  bool index_fits_in_chunk = true;
  // Checksums cover everything that a scan relies on. If not, a changed byte may hide or move chunks and records
  // without being detected.
  bool headers_have_checksums = true;
};

// What success of verify() means.
enum class Verification : std::uint8_t {
  kVerified,    // a checksum covers the chunk's records
  kNoChecksum,  // the records can be decoded; nothing more is known
};

// A numpy array whose elements are the container's records. All records but the last have one size, so that each byte
// has a fixed place whatever is damaged.
struct DenseArray {
  std::string name;               // of the file in the mount that shows it
  std::string header;             // bytes of the file before the first record
  std::uint64_t record_size = 0;  // of each record but the last, which has the rest
  std::uint64_t size = 0;         // of the whole file, including the header
};

// Reads the bytes of a container's trailer. Fails as decode().
using TrailerReader = std::function<Result<Buffer>(const RequestContext& context)>;

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
  // covers it. Uses the format's seek structure, in time independent of the file's size. REQUIRES:
  // traits().has_seek_structure.
  virtual Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const;

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

  // Returns a chunk that is verified now and read on demand, for chunks too large for memory; null if the format does
  // not support that.
  virtual Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                             const ChunkInfo& chunk) const;

  // What the container has beyond its records; null: it has none. Valid as long as the container.
  virtual const Metadata* metadata() const { return nullptr; }
  virtual const DenseArray* array() const { return nullptr; }
  virtual const TrailerReader* trailer() const { return nullptr; }

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
  const DenseArray* array() const override { return below_->array(); }
  const TrailerReader* trailer() const override { return below_->trailer(); }
  const RecordSchema& schema() const override { return below_->schema(); }

 protected:
  const Container& below() const { return *below_; }

 private:
  const std::unique_ptr<const Container> below_;
};

}  // namespace recordfs
