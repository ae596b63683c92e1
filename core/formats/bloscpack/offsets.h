// The offsets section: the position of each chunk.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/bloscpack/wire.h"

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

}  // namespace recordfs::bloscpack
