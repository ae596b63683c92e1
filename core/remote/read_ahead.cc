#include "core/remote/read_ahead.h"

#include <algorithm>

namespace recordfs::remote {
namespace {

constexpr std::uint64_t kLargestWindow = 64u << 20;
constexpr std::uint64_t kGap = 1u << 20;    // bytes that a reader may skip or go back
constexpr std::uint64_t kFirst = 2u << 20;  // bytes read ahead for a reader that is expected to read all
// Reads, and their bytes, after which a reader is thought to go on.
constexpr std::uint64_t kFewReads = 3;
constexpr std::uint64_t kBegin = 512u << 10;

std::uint64_t to_block(std::uint64_t at) { return at / kBlock * kBlock; }

}  // namespace

ReadAhead::ReadAhead(std::uint64_t memory)
    : window_(std::min(kLargestWindow, memory / 2)), part_(std::clamp(to_block(window_ / 4), kBlock, kMostPerRead)) {}

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
  std::uint64_t most = reader->reads < kFewReads || reader->bytes < kBegin ? 0 : 2 * reader->bytes;
  if (expects_all_) most = std::max(most, kFirst);
  most = std::min(most, window_);
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
