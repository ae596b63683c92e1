// Splits: parts of containers and of data sets, for programs that read them in parallel.
//
// A split is a range of bytes of a container. It owns the chunks and the damage that begin in it, so splits that cover
// a file have each record once. A SetPart is one of N parts of a data set, which needs no list of splits: each worker
// computes its own. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/data_set.h"
#include "core/store/record_store.h"

namespace recordfs {

// The bytes [begin, end) of a container.
struct Split {
  Position begin = 0;
  Position end = UINT64_MAX;
  std::string shard{};  // as in DataSet::find_shard(); empty: the only one
  bool owns(Position at) const { return at >= begin && at < end; }
  bool operator==(const Split&) const = default;
};

// Parses "65536:131072", "SHARD:65536:131072", or the same with tabs instead of colons. An omitted bound is that of the
// file. Returns nullopt if it is invalid.
std::optional<Split> parse_split(std::string_view text);
// Returns "SHARD:65536:131072".
std::string split_id(std::string_view shard, Position begin, Position end);

// How large splits are.
struct SplitSize {
  enum class Unit : std::uint8_t { kBytes, kRecords };
  std::uint64_t amount = 64u << 20;  // at least 1
  Unit unit = Unit::kBytes;
};

// A split of one container.
struct ContainerSplit {
  Position begin = 0;
  Position end = 0;
  std::optional<std::uint64_t> records{};  // that it has; nullopt: they were not counted
};

// Returns false to stop.
using TakeSplit = std::function<bool(const ContainerSplit& split)>;

// Passes the splits of a container to `take`, in order. They cover the file without gaps.
// - By bytes: splits of at least 1 MiB are computed. Smaller ones end at the first chunk that begins after so many
//   bytes, which requires a scan of headers.
// - By records: each split but the last has at least so many records, and ends where a chunk begins. Waits for the
//   catalog, which may be saved, and counts the records if it is not.
// Fails as Scanner::step and ChunkIndex::find do, after passing a last split for the rest of the file.
Result<void> for_each_split(const RequestContext& context, const RecordStore& store, SplitSize size,
                            const TakeSplit& take);

// Returns where to start scanning for the split's chunks, found by the container's seek structure. nullopt: at the
// beginning. The sums in the result are invalid. Fails as ChunkIndex::chunk_covering does. REQUIRES: the container is
// in file order.
Result<std::optional<IndexedChunk>> start_of(const RequestContext& context, const Split& split,
                                             const RecordStore& store);

// Chunks and damage that begin in a split, sorted by position. For containers that are not in file order.
struct SplitContent {
  std::vector<IndexedChunk> chunks;
  std::vector<DamagedRegion> damage;
};

// Reads all headers. Fails as Scanner::step does.
Result<SplitContent> content_of(const RequestContext& context, const Split& split, const RecordStore& store);

// Part `number` of `count` parts of a data set that have about the same number of bytes, and may be empty.
struct SetPart {
  std::uint64_t number = 0;              // less than `count`
  std::uint64_t count = 1;               // at least 1
  std::optional<std::uint64_t> check{};  // check_of() the shards that the part was made for; nullopt: of any
  bool operator==(const SetPart&) const = default;
};

// Parses "3/8", or "3/8@" and 16 hexadecimal digits. Returns nullopt if it is invalid.
std::optional<SetPart> parse_part(std::string_view text);
// Returns the same.
std::string part_id(const SetPart& part);

// Returns the size of each shard's file in bytes, and 0 for a missing one. Opens no file. Fails with kIo, also
// for what is not a regular file, and with kLimit; the detail begins with the path.
Result<std::vector<std::uint64_t>> shard_sizes(const DataSet& set);
// Returns a hash of the shards' names, as in addresses, and their sizes.
std::uint64_t check_of(const DataSet& set, std::span<const std::uint64_t> sizes);

// The bytes [begin, end) of a shard.
struct ShardRange {
  std::size_t shard = 0;
  Position begin = 0;
  Position end = 0;
  bool operator==(const ShardRange&) const = default;
};

// Returns what a part has of each shard, in order. The parts of a set have each byte once.
std::vector<ShardRange> ranges_of(const SetPart& part, std::span<const std::uint64_t> sizes);

}  // namespace recordfs
