// Reads consecutive records of a data set in order: chunks are worked on by several threads, and the results are
// finished one after another. The one way to read many records; picked_records.h reads some in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/dataset/data_set.h"
#include "core/dataset/splits.h"
#include "core/store/parallel_scan.h"
#include "core/store/selection.h"

namespace recordfs {

// What is read of one shard: consecutive records, or the chunks that begin in a split.
struct PassPart {
  const RecordStore& store;
  Selection selection{};         // by ordinals in the shard; default: all records
  std::optional<Split> split{};  // instead of `selection`; its shard is ignored
  bool is_light = false;         // the work on a batch takes no longer than to copy it

  // Returns whether a damaged region belongs to the part: it begins in the split, or is between selected records.
  bool has(const DamageRow& row) const;
  // Returns whether a chunk has records of the part, or has no records and is between them.
  bool has(const IndexedChunk& indexed) const;
  // Return the indices of the part's records in a chunk that it has, and in a batch of which the sums are known.
  OrdinalInterval within(const IndexedChunk& indexed) const;
  OrdinalInterval within(const ScannedBatch& batch) const;
};

// Calls `work` and `work_on_batch` as scan() does, for the chunks and the damage that the part has: a step without such
// a chunk has none. Sets the bounds of `options`. Uses fewer threads if that is faster: one for a small file, and for
// light work on small records that are not compressed, because these then stay in its processor's cache. Fails like
// start_of(), content_of() and scan(). The sums of a split are invalid. REQUIRES: as scan().
Result<ScanEnd> read_part(const PassPart& part, ScanOptions options, const ProcessStep& work,
                          const ProcessBatch& work_on_batch = {});

// Returns the positions of a chunk's records for a pass over them, and avoids decoding the chunk if the format can.
// Fails as ChunkReader::layout() and ChunkReader::decode_uncached(). Thread-safe.
Result<std::shared_ptr<const Layout>> layout_of(const RequestContext& context, const RecordStore& store,
                                                const ChunkInfo& chunk);

// Reads the records `wanted` of a shard, by ordinals in the shard, of which the first has the ordinal `base` in the
// set. Returns the number of records before the place where reading ended; nullopt to stop.
using ReadShard =
    std::function<std::optional<std::uint64_t>(std::size_t shard, std::uint64_t base, const OrdinalInterval& wanted)>;
// Calls `read` for each shard with records of `wanted`, in order, which are ordinals in the set. `first`: where the
// first of them is. Returns the number of records before the place where reading ended; nullopt if `read` stopped.
std::optional<std::uint64_t> each_shard(const DataSet& set, const OrdinalInterval& wanted, const RecordInShard& first,
                                        const ReadShard& read);

// Returns whether streams omit a chunk, readable or not, because it has no bytes and no records.
inline bool holds_nothing(const ChunkInfo& chunk) { return chunk.records == 0u && chunk.decoded_size == 0u; }

}  // namespace recordfs
