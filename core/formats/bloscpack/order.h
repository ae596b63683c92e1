// The three ways in which the chunks of a file are found: one behind the other, by offsets that ascend, and by offsets
// in any order. FORMAT.md, "Order".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/formats/bloscpack/survey.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

// Const, any thread. The functions are those of Container and fail only as Source does.
class ChunkOrder {
 public:
  virtual ~ChunkOrder() = default;
  // The key of the first chunk, or where it should be.
  virtual ChunkKey first() const = 0;
  virtual Result<Step> scan(ChunkKey at) const = 0;
  virtual bool is_seekable() const { return false; }
  virtual bool is_file_order() const { return true; }
  virtual Result<std::optional<ChunkInfo>> locate(Position) const { return std::optional<ChunkInfo>{}; }
};

// `source` and `survey` have to outlive it. Fails as Source does.
Result<std::unique_ptr<ChunkOrder>> order_of(const Source& source, const Survey& survey);

// --- what the three have in common

// A chunk whose header says how large it is.
ChunkInfo describe(Position begin, std::uint64_t index, const Look& look);

// Returns how many bytes `stored` bytes of chunks could decode to: zstd packs a run of 128 KiB into 4 bytes, and no
// other codec of Blosc packs more.
std::uint64_t most_decoded(std::uint64_t stored);

// The place of `records` chunks that are known to be there and of which nothing can be read. Their size is not known if
// the file's header declares more than these bytes could hold.
ChunkInfo describe_lost(const Survey& survey, Position begin, Position end, std::uint64_t index, std::uint64_t records);
bool is_lost(const ChunkInfo& chunk);
// The number of the chunk, or of the first of those that are lost.
std::uint64_t index_of(const ChunkInfo& chunk);
// How large the record of a lost chunk should be.
std::uint64_t declared_size(const Survey& survey, std::uint64_t index);

DamagedRegion region_of(Position begin, Position end, const Error& why, std::optional<std::uint64_t> lost);

std::unique_ptr<ChunkOrder> make_chain(const Source& source, const Survey& survey);
std::unique_ptr<ChunkOrder> make_anchored(const Source& source, const Survey& survey);
Result<std::unique_ptr<ChunkOrder>> make_items(const Source& source, const Survey& survey);

}  // namespace recordfs::bloscpack
