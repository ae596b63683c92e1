// Blocks of consecutive records, with what cannot be read among them, made of what a pass reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/dataset/ordered_pass.h"
#include "core/formats/field_projection.h"
#include "core/search/record_search.h"

namespace recordfs {

// Something that cannot be read: a record, a region of the file, a shard.
struct StreamProblem {
  std::size_t before = 0;  // records of the block that precede it
  Error error{};
  Position end = 0;                              // of the region that begins at error.position; 0: unknown
  std::optional<std::uint64_t> first_ordinal{};  // in the shard, of the first record after it; nullopt: unknown
  std::optional<std::uint64_t> records_lost{};   // nullopt: unknown
};

// Returns the error of what a region had.
Error error_of(const DamagedRegion& region);
// Return the problem that a region is, and that records of a chunk cannot be read: `records` from `index` on, if their
// number is known.
StreamProblem problem_of(const DamageRow& row);
StreamProblem problem_of(Error error, const IndexedChunk& indexed, std::uint64_t index,
                         std::optional<std::uint64_t> records);

// Consecutive records of one chunk, among those of a block.
struct ChunkPart {
  Position begin = 0;       // of the chunk
  std::uint64_t index = 0;  // in the chunk, of the first record
  std::uint64_t records = 0;
};

// Consecutive records of a shard, or the matching ones among them. Movable.
struct RecordBlock {
  RecordBlock() = default;
  RecordBlock(RecordBlock&&) noexcept = default;
  RecordBlock& operator=(RecordBlock&&) noexcept = default;

  std::size_t shard = 0;
  std::uint64_t first_ordinal = 0;   // in the data set, of the first record; of a split: unknown
  std::span<const Bytes> records{};  // in `own_records`, or of `owner`
  std::vector<Bytes> own_records{};
  std::vector<std::uint64_t> ordinals{};  // of each record, if there is a search
  std::vector<ChunkPart> chunks{};        // of all records, unless a search read small chunks together
  std::vector<StreamProblem> problems{};  // in order
  std::shared_ptr<const void> owner{};    // keeps the records alive
  std::uint64_t bytes = 0;                // memory that the block holds
};

// Reads a part of a shard as blocks.
struct BlockReader {
  std::size_t shard = 0;
  std::uint64_t base = 0;  // ordinal in the data set of the shard's first record
  PassPart part;
  std::optional<Search> search{};                   // nullopt: all records
  std::shared_ptr<const FieldProjection> fields{};  // that the records need to have; null: all
  const std::atomic<bool>& cancelled;               // ends reading with kInterrupted
  std::function<bool(RecordBlock block)> take{};    // in order, on the thread that calls read(); false to stop

  // Returns the number of records before the place where reading ended. Fails like read_part().
  Result<std::uint64_t> read(unsigned threads, std::uint64_t memory) const;

 private:
  class ChunkBlocks;

  OrderedResult work_on_step(const RequestContext& context, const ScannedStep& step) const;
  OrderedResult work_on_batch(const std::shared_ptr<const ScannedBatch>& batch) const;
  RecordBlock block_of(const std::shared_ptr<const ScannedBatch>& batch, const std::vector<FoundRecord>& found) const;
  bool hand_over(RecordBlock block) const;
};

}  // namespace recordfs
