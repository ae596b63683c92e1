// The records of a blob file as recordfs shows them: the key and the decompressed value, each after its size.
// FORMAT.md, "Record".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/base/windowed_reader.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/formats/rocksdb_blob/wire.h"

namespace recordfs::rocksdb_blob {

// The sizes of a record, as its header and the beginning of its value state them.
struct Outline {
  std::uint64_t stored = 0;  // bytes in the file
  std::uint64_t shown = 0;   // 1 for a record that cannot be read
};

// Returns an error for records that the scan found and that have changed since.
Error not_as_found(Position at);
// Returns the error for a record of `size` bytes.
Error too_large(Position at, std::uint64_t size);

// Const and thread-safe.
class Records {
 public:
  // `compression`: of all values, RocksDB's number; nullopt: unknown.
  Records(std::optional<std::uint8_t> compression, const Limits& limits) : compression_(compression), limits_(limits) {}

  // Returns the codec's name, "-" if unknown. Static storage.
  std::string_view codec() const;
  // Returns whether values are stored without compression.
  bool are_stored() const { return compression_ == 0; }

  // Returns nullopt if no valid header is at `at`, or if its record would end after `end`. Fails as Source does.
  Result<std::optional<Outline>> outline_at(const RequestContext& context, WindowedReader& headers, Position at,
                                            Position end) const;

  // Returns the chunk of `stored`, which consists of records only. Records that cannot be read carry a failure, unless
  // there is only one. `begin`: the file position of `stored`, for errors. Fails with kDamage, kUnsupported, kLimit and
  // kOutOfMemory.
  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const Source& source, Bytes stored,
                                              Position begin) const;

 private:
  struct Content;

  Outline outline(const RecordHeader& header, Bytes front) const;
  Result<std::vector<Outline>> outlines_of(const RequestContext& context, Bytes stored, Position begin) const;
  Result<Content> content_of(const RequestContext& context, Bytes stored, const Outline& outline) const;
  static Result<Buffer> joined(const RequestContext& context, Content content);
  Result<std::shared_ptr<const Chunk>> decode_one(const RequestContext& context, Bytes stored, const Outline& outline,
                                                  Position begin) const;

  const std::optional<std::uint8_t> compression_;
  const Limits limits_;
};

// Verifies the records of a chunk, whose values are stored without compression. Reads in pieces. Fails with kDamage,
// and as Source does.
Result<void> verify_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

// Returns the chunk of a single record, whose value is stored without compression, as Container::open_in_place() does;
// null if its key is too large to stay in memory. Fails with kDamage, and as Source does.
Result<std::shared_ptr<const Chunk>> open_record(const RequestContext& context, std::shared_ptr<const Source> source,
                                                 Position begin, Position end);

}  // namespace recordfs::rocksdb_blob
