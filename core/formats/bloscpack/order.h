// The three ways to find the chunks of a file: as a chain, by ascending offsets, and by offsets in any order.
// FORMAT.md, "Order".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/formats/bloscpack/survey.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

// Immutable; any thread. The functions are those of Container and fail only as Source does.
class ChunkOrder {
 public:
  virtual ~ChunkOrder() = default;
  // Returns the key of the first chunk, or of its expected position.
  virtual ChunkKey first() const = 0;
  virtual Result<Step> scan(const RequestContext& context, ChunkKey at) const = 0;
  virtual bool is_seekable() const { return false; }
  virtual bool is_file_order() const { return true; }
  virtual Result<std::optional<ChunkInfo>> locate(const RequestContext&, Position) const {
    return std::optional<ChunkInfo>{};
  }
};

// `source` and `survey` must outlive the result. Fails as Source does.
Result<std::unique_ptr<ChunkOrder>> order_of(const RequestContext& context, const Source& source, const Survey& survey);

// --- shared by the three orders

// Describes a chunk whose header gives its size.
ChunkInfo describe(Position begin, std::uint64_t index, const Look& look);

// Returns how many bytes `stored` bytes of chunks could decode to. zstd packs a run of 128 KiB into 4 bytes, and no
// other codec of Blosc packs more.
std::uint64_t most_decoded(std::uint64_t stored);

// Describes the place of `records` chunks that are known to exist but unreadable. Their size is unknown if the file's
// header declares more than these bytes could hold.
ChunkInfo describe_lost(const Survey& survey, Position begin, Position end, std::uint64_t index, std::uint64_t records);
bool is_lost(const ChunkInfo& chunk);
// Returns the number of the chunk, or of the first of several lost ones.
std::uint64_t index_of(const ChunkInfo& chunk);
// Returns the expected size of a lost chunk's record.
std::uint64_t declared_size(const Survey& survey, std::uint64_t index);

DamagedRegion region_of(Position begin, Position end, const Error& why, std::optional<std::uint64_t> lost);

}  // namespace recordfs::bloscpack
