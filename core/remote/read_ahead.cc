#include "core/remote/read_ahead.h"

#include <algorithm>

namespace recordfs::remote {
namespace {

constexpr std::uint64_t kLargestWindow = 64u << 20;
// Requests in flight share the link, and so end at about the same time. The smaller they are, the sooner the next ones
// are sent, and the less of a round trip the link is idle.
constexpr std::uint64_t kLargestPart = 4u << 20;
// Of a pass. Twice the bytes that arrive in a round trip of 50 ms at 1 GB/s: with less, the link is idle whenever
// several requests end together.
constexpr std::uint64_t kLargestPassWindow = 96u << 20;
constexpr std::uint64_t kPartsOfPass = 12;
// Without a round trip, little in flight keeps a link busy, and stays in the processor's cache until it is copied.
constexpr std::uint64_t kWindowOfNear = 8u << 20;
constexpr std::uint64_t kPartOfNear = 1u << 20;
// The first requests of a window are sent together. They differ in size, so that they end one after another, and a
// request can follow each of them while others still fill the link.
constexpr std::uint64_t kFirstPart = 1u << 20;
constexpr std::uint64_t kPartGrowth = 2 * kBlock;
constexpr std::uint64_t kGap = 1u << 20;    // bytes that a reader may skip or go back
constexpr std::uint64_t kFewReads = 3;      // of a reader that is expected to read all
constexpr std::uint64_t kGrowth = 4;        // what such a reader has read is multiplied by this: few round trips
constexpr std::uint64_t kGrowthOfFar = 16;  // even fewer
constexpr std::uint64_t kMany = 2u << 20;   // bytes of a reader that is not `head`, from which on it is
constexpr std::uint64_t kBegin = 4u << 20;  // bytes of another one, after which it is thought to go on

std::uint64_t to_block(std::uint64_t at) { return at / kBlock * kBlock; }

}  // namespace

ReadAhead::ReadAhead(Memory memory, bool is_far)
    : memory_(memory),
      window_(std::min(is_far ? kLargestWindow : kWindowOfNear, memory.blocks / 2)),
      pass_window_(std::min(is_far ? kLargestPassWindow : kWindowOfNear, memory.passes / 8 * 7)),
      part_(std::clamp(to_block(window_ / 4), kBlock, is_far ? kLargestPart : kPartOfNear)),
      pass_part_(std::clamp(to_block(pass_window_ / kPartsOfPass), part_, kMostPerRead)),
      growth_(is_far ? kGrowthOfFar : kGrowth) {}

ReadAhead::Reader* ReadAhead::reader_at(Position at) {
  for (Reader& reader : readers_) {
    if (reader.bytes != 0 && at + kGap >= reader.next && at <= reader.next + kGap) return &reader;
  }
  return nullptr;
}

ReadAhead::Reader& ReadAhead::made_reader_at(Position at) {
  if (Reader* const known = reader_at(at)) return *known;
  Reader& oldest = *std::ranges::min_element(readers_, {}, &Reader::used_at);
  return oldest = {.next = at, .requested = to_block(at), .bytes = 1};
}

void ReadAhead::begin_pass(Position begin) {
  expects_all_ = true;
  made_reader_at(begin).is_pass = true;
}

ReadAhead::Range ReadAhead::note(Position at, Position end, std::uint64_t size, std::uint64_t room) {
  Reader& reader = made_reader_at(at);
  reader.bytes += std::max(end, reader.next) - reader.next;
  reader.next = std::max(end, reader.next);
  reader.used_at = ++time_;
  ++reader.reads;
  // What a pass over a larger object reads does not become blocks in memory, if there is room.
  const bool is_larger = expects_all_ && size > memory_.blocks;
  const std::uint64_t window = is_larger ? pass_window_ : window_;
  // In proportion to how far the reader has come, so that one that stops soon has cost little.
  std::uint64_t most = 0;
  if (reader.is_pass) {
    most = window;
  } else if (expects_all_ && reader.reads >= kFewReads) {
    most = std::min(reader.bytes, window) * (reader.bytes >= kMany ? growth_ : 1);
  }
  if (!expects_all_ && reader.bytes >= kBegin) most = reader.bytes / 2;
  most = std::min(most, window);
  if (most < kBlock) return {};
  Range range{.begin = std::max(reader.requested, to_block(reader.next + kBlock - 1)),
              .end = std::min(size, to_block(reader.next + most)),
              .part = std::clamp(to_block(most / 2), kBlock, is_larger ? pass_part_ : part_)};
  // What has no room becomes blocks. With more of them, the cache would drop some before they are read.
  const Position least = to_block(reader.next + std::min(most, window_));
  if (is_larger && room < range.end - std::min(range.begin, range.end) && least < range.end) {
    range.end = std::max(least, range.begin + to_block(room));
    range.part = std::min(range.part, part_);
  }
  // Large requests instead of many small ones.
  if (range.is_empty() || (range.end < size && range.end - range.begin < range.part)) return {};
  if (reader.is_pass && range.end - range.begin > 2 * range.part) {
    range.largest = range.part;
    range.part = std::min(range.part, kFirstPart);
    range.growth = kPartGrowth;
  } else if (range.end < size) {
    range.end = range.begin + (range.end - range.begin) / range.part * range.part;
  }
  reader.requested = range.end;
  return range;
}

void ReadAhead::was_cut(const Range& range, Position end) {
  for (Reader& reader : readers_) {
    if (reader.requested == range.end) reader.requested = std::max(end, to_block(reader.next));
  }
}

}  // namespace recordfs::remote
