// The offsets section: where each chunk begins, as far as it can be believed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"

namespace recordfs::bloscpack {

// An offset that was not written. All other negative ones are just as far outside of any file.
inline constexpr std::uint64_t kUnset = std::numeric_limits<std::uint64_t>::max();
// More offsets than this are not looked through at open.
inline constexpr std::uint64_t kMostOffsets = 4u << 20;

// Const, any thread; functions that read fail as Source does, or with kUnfinished where the file ends.
class Offsets {
 public:
  // `source` has to outlive it. REQUIRES: the offsets lie within the file.
  Offsets(const Source& source, Position begin, std::uint64_t count) : source_(source), begin_(begin), count_(count) {}

  std::uint64_t count() const { return count_; }
  Position begin() const { return begin_; }
  Position place_of(std::uint64_t index) const;
  // REQUIRES: index < count().
  Result<std::uint64_t> at(std::uint64_t index) const;
  // The first index whose offset is above `position`, or count(). REQUIRES: the offsets ascend.
  Result<std::uint64_t> first_above(Position position) const;

  // Calls `see(index, offset)` for one after the other until it answers false. Returns the index of that one, or
  // count().
  using See = std::function<bool(std::uint64_t index, std::uint64_t offset)>;
  Result<std::uint64_t> each(const See& see) const;

  // How many offsets from the first on are unset; looks at kMostOffsets of them at the most.
  Result<std::uint64_t> leading_unset() const;
  // How many there are from the first on that are not followed by unset ones alone.
  Result<std::uint64_t> without_trailing_unset() const;

  // How many offsets from the first on ascend strictly, beginning at `least` or behind it.
  Result<std::uint64_t> ascending(Position least) const;

  // All offsets in [least, most], by position, those that are equal by index.
  struct Entry {
    Position position = 0;
    std::uint64_t index = 0;
    auto operator<=>(const Entry&) const = default;
  };
  Result<std::vector<Entry>> sorted(Position least, Position most) const;

 private:
  const Source& source_;
  Position begin_;
  std::uint64_t count_;
};

}  // namespace recordfs::bloscpack
