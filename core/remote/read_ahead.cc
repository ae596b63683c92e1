#include "core/remote/read_ahead.h"

#include <algorithm>

namespace recordfs::remote {
namespace {

constexpr std::uint64_t kLargestWindow = 64u << 20;
// Requests in flight share the link, and so end at about the same time. The smaller they are, the sooner the next ones
// are sent, and the less of a round trip the link is idle. Without a round trip, fewer connections take less time of
// the processor.
constexpr std::uint64_t kLargestPartOfFar = 4u << 20;
constexpr std::uint64_t kGap = 1u << 20;    // bytes that a reader may skip or go back
constexpr std::uint64_t kFewReads = 3;      // of a reader that is expected to read all
constexpr std::uint64_t kGrowth = 4;        // what such a reader has read is multiplied by this: few round trips
constexpr std::uint64_t kGrowthOfFar = 16;  // even fewer
constexpr std::uint64_t kMany = 2u << 20;   // bytes of a reader that is not `head`, from which on it is
constexpr std::uint64_t kBegin = 4u << 20;  // bytes of another one, after which it is thought to go on

std::uint64_t to_block(std::uint64_t at) { return at / kBlock * kBlock; }

}  // namespace

ReadAhead::ReadAhead(std::uint64_t memory, bool is_far)
    : memory_(memory),
      window_(std::min(kLargestWindow, memory / 2)),
      part_(std::clamp(to_block(window_ / 4), kBlock, is_far ? kLargestPartOfFar : kMostPerRead)),
      growth_(is_far ? kGrowthOfFar : kGrowth) {}

ReadAhead::Reader* ReadAhead::reader_at(Position at) {
  for (Reader& reader : readers_) {
    if (reader.bytes != 0 && at + kGap >= reader.next && at <= reader.next + kGap) return &reader;
  }
  return nullptr;
}

ReadAhead::Range ReadAhead::note(Position at, Position end, std::uint64_t size) {
  Reader* reader = reader_at(at);
  if (reader == nullptr) {
    reader = &*std::ranges::min_element(readers_, {}, &Reader::used_at);
    *reader = {.next = at, .requested = to_block(at)};
  }
  reader->bytes += std::max(end, reader->next) - reader->next;
  reader->bytes = std::max<std::uint64_t>(reader->bytes, 1);
  reader->next = std::max(end, reader->next);
  reader->used_at = ++time_;
  ++reader->reads;
  // What a pass over a larger object reads does not become blocks in memory.
  const std::uint64_t window = expects_all_ && size > memory_ ? std::min(kLargestWindow, memory_ / 4 * 3) : window_;
  // In proportion to how far the reader has come, so that one that stops soon has cost little.
  std::uint64_t most = 0;
  if (expects_all_ && reader->reads >= kFewReads) {
    most = std::min(reader->bytes, window) * (reader->bytes >= kMany ? growth_ : 1);
  }
  if (!expects_all_ && reader->bytes >= kBegin) most = reader->bytes / 2;
  most = std::min(most, window);
  if (most < kBlock) return {};
  Range range{.begin = std::max(reader->requested, to_block(reader->next + kBlock - 1)),
              .end = std::min(size, to_block(reader->next + most)),
              .part = std::clamp(to_block(most / 2), kBlock, part_)};
  // Large requests instead of many small ones.
  if (range.is_empty() || (range.end < size && range.end - range.begin < range.part)) return {};
  if (range.end < size) range.end = range.begin + (range.end - range.begin) / range.part * range.part;
  reader->requested = range.end;
  return range;
}

}  // namespace recordfs::remote
