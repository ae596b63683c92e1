// Reads what one container offers as one long file.
#pragma once

#include <cstdint>

#include "core/store/chunk_index.h"
#include "core/store/chunk_reader.h"
#include "core/store/record_reader.h"

namespace recordfs {

enum class Stream : std::uint8_t {
  kConcat,     // all records
  kLines,      // all records, with a newline after each
  kArray,      // Container::array(): the header and all records
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
