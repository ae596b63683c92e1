// Everything known about a file at open: its header, the positions of metadata and offsets, the number and the order
// of its chunks. Reads headers and offsets, but no chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/codec/blosc.h"
#include "core/formats/bloscpack/wire.h"
#include "core/formats/container.h"

namespace recordfs::bloscpack {

// An offset that was not written. All other negative ones are outside of any file as well.
inline constexpr std::uint64_t kUnset = std::numeric_limits<std::uint64_t>::max();
// Open does not examine more offsets than this.
inline constexpr std::uint64_t kMostOffsets = 4u << 20;

// The offsets section: the position of each chunk, as far as it is credible. Any thread. Functions that read fail as
// Source does, or with kUnfinished at the end of the file.
class Offsets {
 public:
  // `source` must outlive it. REQUIRES: the offsets are within the file.
  Offsets(const Source& source, Position begin, std::uint64_t count) : source_(source), begin_(begin), count_(count) {}

  std::uint64_t count() const { return count_; }
  Position begin() const { return begin_; }
  Position place_of(std::uint64_t index) const;
  // REQUIRES: index < count().
  Result<std::uint64_t> at(const RequestContext& context, std::uint64_t index) const;
  // Returns the first index whose offset is above `position`, or count(). REQUIRES: the offsets ascend.
  Result<std::uint64_t> first_above(const RequestContext& context, Position position) const;

  // Calls `see(index, offset)` for consecutive offsets until it returns false. Returns the index of that one, or
  // count().
  using See = std::function<bool(std::uint64_t index, std::uint64_t offset)>;
  Result<std::uint64_t> each(const RequestContext& context, const See& see) const;

  // Returns the number of unset offsets at the start; examines at most kMostOffsets.
  Result<std::uint64_t> leading_unset(const RequestContext& context) const;
  // Returns the number of offsets without the unset ones at the end.
  Result<std::uint64_t> without_trailing_unset(const RequestContext& context) const;

  // Returns how many offsets from the first on ascend strictly, starting at `least` or above.
  Result<std::uint64_t> ascending(const RequestContext& context, Position least) const;

  // Returns all offsets in [least, most], sorted by position, then by index.
  struct Entry {
    Position position = 0;
    std::uint64_t index = 0;
    auto operator<=>(const Entry&) const = default;
  };
  Result<std::vector<Entry>> sorted(const RequestContext& context, Position least, Position most) const;

 private:
  const Source& source_;
  Position begin_;
  std::uint64_t count_;
};

// How chunks are found.
enum class Order : std::uint8_t {
  kNone,      // there are no chunks to find
  kChain,     // each begins where the previous one ends
  kAnchored,  // the same, with ascending offsets as fixed points
  kItems,     // each at its offset, in any order
};

struct Survey {
  // Adds a region of damage, as far as it is inside the file.
  void report(Position begin, Position end, DamageClass damage_class, std::optional<std::uint64_t> lost,
              std::string why);
  // Marks everything after the headers as uninterpretable.
  void refuse(Code code, Position at, std::string why) { refusal = Error{code, at, std::move(why)}; }

  std::uint64_t file_size = 0;
  FileHeader header;
  std::optional<Error> refusal;  // why nothing after the header can be interpreted

  Position metadata_begin = 0;  // of its stored bytes
  std::optional<MetadataHeader> metadata;

  Order order = Order::kNone;
  Position first_chunk = 0;
  std::optional<std::uint64_t> count;  // of the chunks; nullopt: read until the end
  Position offsets_begin = 0;
  std::uint64_t offsets = 0;          // number of offsets that belong to chunks
  bool rest_is_slack = false;         // bytes after the last chunk
  bool gaps_are_slack = false;        // bytes between two chunks
  std::vector<DamagedRegion> damage;  // in the headers and the offsets, in file order
};

// The result of examining a position where a chunk may begin.
struct Look {
  std::optional<BloscHeader> header;  // nullopt: no chunk, for the reason in `why`
  Position end = 0;                   // of the chunk including its checksum
  Error why;
};

// REQUIRES: `survey` has the file's header. Fails only as Source does. Any thread.
Result<Look> look_at(const RequestContext& context, const Source& source, const Survey& survey, Position at);

// Fails only as Source does.
Result<Survey> survey(const RequestContext& context, const Source& source);

}  // namespace recordfs::bloscpack
