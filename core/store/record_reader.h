// Reads the records of one container, and what it offers as one long file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/formats/value.h"
#include "core/store/chunk_index.h"
#include "core/store/chunk_reader.h"

namespace recordfs {

// The place of a record. Unlike an ordinal, it does not depend on damage elsewhere.
struct RecordRef {
  ChunkInfo chunk;
  std::uint64_t index = 0;
};

// The bytes of a record, and its Value as parts, which points into them.
struct RecordParts {
  Slice record;
  Value value;
};

// Works on the calling thread, as ChunkReader. Failures are logged. Thread-safe.
class RecordReader {
 public:
  // `shorter`: the reader of the same file when it was shorter, whose addresses stay valid; null: none. It need not
  // outlive the constructor; the others must outlive this.
  RecordReader(const StoredFile& file, const ChunkIndex& index, const ChunkReader& chunks, DamageLog& log,
               const RecordReader* shorter);

  // Returns (chunk.begin << index_bits) + index, where index_bits is 0 if ContainerTraits::index_fits_in_chunk, and
  // otherwise what the file's size leaves of StoreResources::address_bits. That is unique to a record, below
  // address_limit(), and ascending along the file. It is the value of a kRecord node, and so of the inode number. Fails
  // with kLimit if the index is too large for a container of this size.
  Result<std::uint64_t> address(const ChunkInfo& chunk, std::uint64_t index) const;
  // Returns the record with an address. kNotFound if no chunk covers it (the index is not checked), and kPending.
  Result<RecordRef> record_at(const RequestContext& context, std::uint64_t address) const;
  std::uint64_t address_limit() const {
    return file_.is_followed ? std::uint64_t{1} << file_.services.address_bits : file_.source->size() << index_bits_;
  }
  // Returns the difference of the addresses of two records whose chunks begin so many bytes apart.
  std::uint64_t address_distance(std::uint64_t bytes) const { return bytes << index_bits_; }
  // Returns whether a file of `size` bytes can keep the addresses of this one. REQUIRES: the file is followed.
  bool has_room_for(std::uint64_t size) const { return size <= address_limit() >> index_bits_; }

  // Returns the size of a record in bytes: exact if it is readable, otherwise the declared size or 1. Fails only for
  // reasons that may pass (as kIo, kChanged, kOutOfMemory), and with kNotFound.
  Result<std::uint64_t> size(const RequestContext& context, const RecordRef& record) const;
  // The same for the record with an address. Asks the cache of chunks before the index. kPending.
  Result<std::uint64_t> size_at(const RequestContext& context, std::uint64_t address) const;
  // Returns up to `length` bytes of a record from `offset`, fewer only at its end. Fails like ChunkReader::get(), and
  // with kNotFound.
  Result<Slice> read(const RequestContext& context, const RecordRef& record, std::uint64_t offset,
                     std::uint64_t length) const;
  // The same for the record with an address. Asks the cache of chunks before the index. kPending.
  Result<Slice> read_at(const RequestContext& context, std::uint64_t address, std::uint64_t offset,
                        std::uint64_t length) const;
  // The same for a decoded chunk. REQUIRES: the chunk has the record.
  Result<Slice> read(const RequestContext& context, const Chunk& chunk, std::uint64_t index, std::uint64_t offset,
                     std::uint64_t length) const;
  // What for_each_following() keeps for the next call: small chunks that it has read together. At most kLargestWindow
  // stored bytes and BulkReader::kMostBytes decoded ones. Belongs to one caller and one store.
  struct BatchCursor {
    RecordBatch batch{};       // without chunks: none
    std::uint64_t window = 0;  // bytes of the last one; the next has twice as many
  };
  // Passes the readable records after `record` to `take`, in the container's order, until it returns false. Stops at a
  // chunk that cannot be decoded now, or is large.
  void for_each_following(const RequestContext& context, const RecordRef& record, BatchCursor& following,
                          const std::function<bool(const RecordRef&, Bytes)>& take) const;

  // Returns the parts of a record. Not cached. Fails like read() and RecordSchema::value. REQUIRES: the schema has
  // them.
  Result<RecordParts> parts(const RequestContext& context, const RecordRef& record) const;

 private:
  static constexpr std::uint64_t kFirstWindow = 16u << 10;
  static constexpr std::uint64_t kLargestWindow = 256u << 10;

  // Where a record with an address is in a cached chunk. chunk == null: nowhere.
  struct CachedRecord {
    std::shared_ptr<const CachedChunk> chunk;
    std::uint64_t index = 0;
  };
  // Also reports that the chunk was read.
  CachedRecord cached_at(std::uint64_t address) const;
  int index_bits(const RecordReader* shorter) const;
  // Small chunks are read together by for_each_following(), which costs less than decoding each ahead.
  bool is_read_together(const ChunkInfo& chunk) const {
    return chunk.end - chunk.begin <= kFirstWindow / 2 && file_.container->bulk() != nullptr;
  }
  Result<ChunkReader::Pointer> get(const RequestContext& context, const ChunkInfo& chunk) const;
  void read_together(const RequestContext& context, ChunkKey at, BatchCursor& following) const;
  Error failed(const RequestContext& context, const RecordRef& record, Code code, std::string_view why) const;

  const StoredFile& file_;
  const ChunkIndex& index_;
  const ChunkReader& chunks_;
  DamageLog& log_;
  const int index_bits_;  // of an address, for the index; 0 if begin + index is unique
};

enum class Stream : std::uint8_t {
  kConcat,     // all records
  kLines,      // all records, with a newline after each
  kArray,      // ContainerTraits::array: the header and all records
  kChunkRows,  // index/chunks.tsv, header line included; rows are generated on demand
};

// Failures are logged. Thread-safe.
class StreamReader {
 public:
  // All must outlive this. Slices of the header of kArray have no owner, and must not outlive `file`.
  StreamReader(const StoredFile& file, const ChunkIndex& index, const ChunkReader& chunks, const RecordReader& records,
               DamageLog& log)
      : file_(file), index_(index), chunks_(chunks), records_(records), log_(log) {}

  // Returns the size of a stream in bytes. kPending until the whole file was scanned; of kArray, known at open.
  // REQUIRES: of kArray, that there is one; likewise read().
  Result<std::uint64_t> size(Stream stream) const;
  // Returns up to `length` bytes of a stream, fewer only at its end. Fails if any record in the range is unreadable,
  // and for kArray with kDamage if a record is missing or has another size than the array needs. kPending.
  Result<Slice> read(const RequestContext& context, Stream stream, std::uint64_t offset, std::uint64_t length) const;

 private:
  // Each returns a part of the range that is not empty, unless the file has changed. REQUIRES: the range is in the
  // stream and not empty.
  Result<Slice> part_of(const RequestContext& context, Stream stream, std::uint64_t offset, std::uint64_t length) const;
  Result<Slice> part_of_records(const RequestContext& context, Stream stream, std::uint64_t offset,
                                std::uint64_t length) const;
  Result<Slice> part_of_array(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const;
  Result<Slice> part_of_rows(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const;
  Result<Slice> read_lines(const RequestContext& context, const Chunk& chunk, std::uint64_t offset,
                           std::uint64_t length) const;

  const StoredFile& file_;
  const ChunkIndex& index_;
  const ChunkReader& chunks_;
  const RecordReader& records_;
  DamageLog& log_;
};

}  // namespace recordfs
