// One pass over a container from a place on: steps through scan(), keeps the sums, and sees to it that
// the walk moves and ends.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/formats/container.h"
#include "core/store/place.h"

namespace recordfs {

// What a walk has to know of a chunk before it goes on.
enum class Depth : std::uint8_t {
  kHeaders,  // what its header says
  kCounts,   // how many records
  kSizes,    // and how many bytes they have together
};

// Makes the layout of a chunk; fails as Container::layout does. Whoever walks for others may hold it back until there
// is memory for it.
using MakeLayout = std::function<Result<Layout>(const ChunkInfo&)>;

// Fills in what a chunk's header leaves open and `depth` asks for, from its layout. Returns why its number of records
// stays unknown, or nothing; a chunk of which it stays unknown counts as empty. Fails as Container::layout does when
// another try may end otherwise.
Result<std::optional<Error>> learn(const MakeLayout& make_layout, Depth depth, ChunkInfo& chunk);

// What a layout has told of a chunk whose header says too little, so that nobody has to make the layout again.
struct Learnt {
  static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t records = kNothing;  // kNothing: nothing was learnt of this chunk
  std::uint32_t size = kNothing;     // of all records, in bytes; kNothing: it stays unknown
  bool operator==(const Learnt&) const = default;
};

// A region that the walk found unsound, with the ordinal of the first record behind it.
struct DamageRow {
  DamagedRegion region;
  std::uint64_t first_ordinal = 0;
};

// Not thread-safe: one walk, one thread.
class Walk {
 public:
  // From the beginning, or from a place that an earlier walk over the same container reached.
  // Without `make_layout` the container makes layouts at once.
  Walk(const Container& container, Position container_size, Depth depth, MakeLayout make_layout = {});
  // `learnt` is what an earlier walk has learnt of the next chunks, in their order: it is believed.
  Walk(const Container& container, Position container_size, Depth depth, ChunkKey from, Totals before,
       std::vector<Learnt> learnt = {}, MakeLayout make_layout = {});

  // Takes one step. What it found is in chunk() and damage() until the next. Fails as Container::scan and learn()
  // do, and with kOutOfMemory; the walk has not moved then and may be tried again. REQUIRES: !at_end().
  Result<void> step();

  const std::optional<Place>& chunk() const { return chunk_; }
  // What this walk had to learn of chunk(); Learnt() where its header says enough, or has numbers that are too large.
  const Learnt& learnt() const { return learnt_now_; }
  const std::vector<DamageRow>& damage() const { return damage_; }
  bool at_end() const { return !next_.has_value(); }
  // Where the next step goes on. REQUIRES: !at_end().
  ChunkKey next() const { return *next_; }
  // The sums over all that was found so far.
  const Totals& totals() const { return totals_; }

 private:
  Result<void> take_step();
  Result<std::optional<Error>> learn_or_recall(ChunkInfo& chunk);

  const Container& container_;
  const Depth depth_;
  const MakeLayout make_layout_;
  std::uint64_t steps_left_;
  const std::vector<Learnt> learnt_;
  const std::uint64_t learnt_from_;  // number of the chunk that `learnt_` begins with
  std::optional<ChunkKey> next_;
  Totals totals_;
  std::optional<Place> chunk_;
  Learnt learnt_now_;
  std::vector<DamageRow> damage_;
};

}  // namespace recordfs
