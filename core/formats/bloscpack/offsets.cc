#include "core/formats/bloscpack/offsets.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"

namespace recordfs::bloscpack {
namespace {

constexpr std::uint64_t kOffsetsPerRead = 8192;

}  // namespace

Position Offsets::place_of(std::uint64_t index) const { return begin_ + index * kOffsetSize; }

Result<std::uint64_t> Offsets::at(const RequestContext& context, std::uint64_t index) const {
  std::array<std::byte, kOffsetSize> bytes{};
  ASSIGN_OR_RETURN(const auto got, source_.read_at(context, place_of(index), bytes));
  if (got < bytes.size()) return Error{Code::kUnfinished, place_of(index), "the file ends inside its offsets"};
  return Cursor(bytes).u64_le();
}

Result<std::uint64_t> Offsets::each(const RequestContext& context, const See& see) const {
  for (std::uint64_t index = 0; index < count_;) {
    const std::uint64_t wanted = std::min(kOffsetsPerRead, count_ - index);
    ASSIGN_OR_RETURN(const auto bytes, read_exactly(context, source_, place_of(index), wanted * kOffsetSize));
    Cursor cursor(bytes.view());
    for (std::uint64_t i = 0; i < wanted; ++i, ++index) {
      if (!see(index, cursor.u64_le())) return index;
    }
  }
  return count_;
}

Result<std::uint64_t> Offsets::first_above(const RequestContext& context, Position position) const {
  std::uint64_t low = 0;
  std::uint64_t high = count_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const auto offset, at(context, middle));
    if (offset > position) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Result<std::uint64_t> Offsets::leading_unset(const RequestContext& context) const {
  return each(context,
              [](std::uint64_t index, std::uint64_t offset) { return offset == kUnset && index < kMostOffsets; });
}

Result<std::uint64_t> Offsets::without_trailing_unset(const RequestContext& context) const {
  std::uint64_t after = 0;
  TRY(each(context, [&](std::uint64_t index, std::uint64_t offset) {
    if (offset != kUnset) after = index + 1;
    return true;
  }));
  return after;
}

Result<std::uint64_t> Offsets::ascending(const RequestContext& context, Position least) const {
  return each(context, [&](std::uint64_t, std::uint64_t offset) {
    // A negative offset ends the sequence too: -1 is the largest value, so nothing can follow it.
    if (offset < least || offset > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
    least = offset + 1;
    return true;
  });
}

Result<std::vector<Offsets::Entry>> Offsets::sorted(const RequestContext& context, Position least,
                                                    Position most) const {
  std::vector<Entry> entries;
  TRY(each(context, [&](std::uint64_t index, std::uint64_t offset) {
    if (offset >= least && offset <= most) entries.push_back({offset, index});
    return true;
  }));
  std::ranges::sort(entries);
  return entries;
}

}  // namespace recordfs::bloscpack
