#include "core/base/unreadable_ranges.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "core/base/buffer.h"
#include "core/base/source.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kBlock = 512;  // the smallest sector; a larger one takes three more failing reads
constexpr std::uint64_t kTrialPiece = 256u << 10;
constexpr std::size_t kMostRanges = 65536;

// Returns the begin of the block after `at`, or the end of the source. REQUIRES: at < size.
Position next_block(Position at, std::uint64_t size) {
  const std::uint64_t rest = kBlock - at % kBlock;
  return size - at <= rest ? size : at + rest;
}

Position aligned(Position at) { return at - at % kBlock; }

// Returns the errno of a read of [begin, end), or 0 if the bytes can be read. Fails as Source does, for other reasons
// than these bytes.
Result<int> try_read(const RequestContext& context, const Source& source, Position begin, Position end,
                     MutableBytes scratch) {
  while (begin < end) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(end - begin, scratch.size()));
    TRY(context.spend(size));
    auto got = source.read_at(context, begin, scratch.first(size));
    if (!got && is_of_bytes(got.error())) return got.error().os_error;
    if (!got) return std::move(got).error();
    begin += size;
  }
  return 0;
}

// Searches for the first and the last byte of an unreadable range.
class RangeSearch {
 public:
  RangeSearch(const RequestContext& context, const Source& source, MutableBytes scratch)
      : context_(context), source_(source), scratch_(scratch) {}

  // Returns the begin of the first unreadable block of [begin, end), or `end`. Reads the first block first: the kernel
  // names the place of a failure, and other sources do not.
  Result<Position> begin_in(Position begin, Position end) {
    const std::uint64_t size = source_.size();
    Position low = begin;
    Position high = std::min(next_block(begin, size), end);
    ASSIGN_OR_RETURN(const auto fails_first, fails(low, high));
    if (fails_first) return begin;
    low = high;
    high = end;
    while (high > low && high - low > kBlock) {
      const Position middle = std::max(aligned(low + (high - low) / 2), next_block(low, size));
      ASSIGN_OR_RETURN(const auto fails_front, fails(low, middle));
      (fails_front ? high : low) = middle;
    }
    ASSIGN_OR_RETURN(const auto fails_last, fails(low, high));
    return fails_last ? low : end;
  }

  // Returns the end of the range that includes the block at `bad`.
  Result<Position> end_after(Position bad) {
    const std::uint64_t size = source_.size();
    Position good = size;
    std::uint64_t step = kBlock;
    for (Position next = next_block(bad, size); next < size; step *= 2) {
      ASSIGN_OR_RETURN(const auto fails_next, fails(next, next_block(next, size)));
      if (!fails_next) {
        good = next;
        break;
      }
      bad = next;
      if (step >= size - next) break;
      next += step;
    }
    while (next_block(bad, size) < good) {
      const Position tried = std::max(aligned(bad + (good - bad) / 2), next_block(bad, size));
      ASSIGN_OR_RETURN(const auto fails_tried, fails(tried, next_block(tried, size)));
      (fails_tried ? bad : good) = tried;
    }
    return good;
  }

  int os_error() const { return os_error_; }

 private:
  Result<bool> fails(Position begin, Position end) {
    ASSIGN_OR_RETURN(const auto error, try_read(context_, source_, begin, end, scratch_));
    if (error != 0) os_error_ = error;
    return error != 0;
  }

  const RequestContext& context_;
  const Source& source_;
  const MutableBytes scratch_;
  int os_error_ = 0;
};

}  // namespace

Error UnreadableRange::error() const {
  return {.code = Code::kUnreadable,
          .position = begin,
          .detail = fmt::format("bytes {} to {} cannot be read: {}", begin, end, std::strerror(os_error)),
          .os_error = os_error,
          .end = end};
}

bool is_of_bytes(const Error& error) {
  constexpr std::array kOfBytes = {EIO, ENODATA, EBADMSG, EUCLEAN, EILSEQ};
  return error.code == Code::kIo && std::ranges::find(kOfBytes, error.os_error) != kOfBytes.end();
}

Result<std::optional<UnreadableRange>> find_unreadable(const RequestContext& context, const Source& source,
                                                       Position begin, Position end) {
  ASSIGN_OR_RETURN(auto scratch, Buffer::allocate(context, kTrialPiece));
  RangeSearch search(context, source, scratch.span());
  ASSIGN_OR_RETURN(const auto first, search.begin_in(begin, end));
  if (first == end) return std::optional<UnreadableRange>{};
  ASSIGN_OR_RETURN(const auto last, search.end_after(first));
  return std::optional(UnreadableRange{first, last, search.os_error()});
}

std::optional<UnreadableRange> UnreadableRanges::first_in(Position begin, Position end) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::upper_bound(ranges_, begin, {}, &UnreadableRange::end);
  if (found == ranges_.end() || found->begin >= end) return std::nullopt;
  return *found;
}

void UnreadableRanges::add(UnreadableRange range) {
  const std::lock_guard lock(mutex_);
  auto first = std::ranges::lower_bound(ranges_, range.begin, {}, &UnreadableRange::end);
  auto last = first;
  for (; last != ranges_.end() && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  auto added = ranges_.insert(ranges_.erase(first, last), range);
  // Of too many ranges, two become one.
  if (ranges_.size() <= kMostRanges) return;
  if (added == ranges_.begin()) ++added;
  std::prev(added)->end = added->end;
  ranges_.erase(added);
}

std::optional<Error> UnreadableRanges::error_in(Position begin, Position end) const {
  const auto first = first_in(begin, end);
  if (!first) return std::nullopt;
  Error error = first->error();
  std::uint64_t more = 0;
  for (auto next = first_in(first->end, end); next; next = first_in(next->end, end)) ++more;
  if (more > 0) error.detail += fmt::format(" (and {} more {})", more, more == 1 ? "range" : "ranges");
  return error;
}

}  // namespace recordfs
