#include "core/formats/proio/framing.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/formats/proio/payload.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

constexpr std::uint64_t kStraysOfAFoundHeader = 32;

// The most empty events (only a length each) that one stored byte can decompress to.
constexpr std::uint64_t kGzipEventsPerByte = 1032 / kEventLengthSize;
constexpr std::uint64_t kLz4EventsPerByte = 256 / kEventLengthSize;
constexpr std::uint64_t kLzmaEventsPerByte = 8192 / kEventLengthSize;

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost / b ? kMost : a * b;
}

// Returns the name of a compression, or "unknown". The result has static storage.
std::string_view name_of_compression(std::uint32_t compression) {
  switch (compression) {
    case kCompressionNone: return "none";
    case kCompressionGzip: return "gzip";
    case kCompressionLz4: return "lz4";
    case kCompressionLzma: return "lzma";
    default: return "unknown";
  }
}

// Returns the most events that a payload of `stored` bytes can hold, or the largest number if the compression is
// unknown.
std::uint64_t most_events(std::uint32_t compression, std::uint64_t stored) {
  switch (compression) {
    case kCompressionNone: return stored / kEventLengthSize;
    case kCompressionGzip: return times(stored, kGzipEventsPerByte);
    case kCompressionLz4: return times(stored, kLz4EventsPerByte);
    case kCompressionLzma: return times(stored, kLzmaEventsPerByte);
    default: return std::numeric_limits<std::uint64_t>::max();
  }
}

using Verdict = HeaderReading::Verdict;

constexpr std::uint64_t kSearchWindow = 64 << 10;
constexpr std::uint64_t kHasAttributes = std::uint64_t{1} << 32;  // in ChunkInfo::detail[1], above the compression

// The decoded ChunkKey::state.
struct WalkState {
  Position at = 0;             // where the search continues; 0 if it has not begun
  bool looks_for_end = false;  // the search determines whether the file ends in a complete bucket
  bool end_is_bucket = false;  // it is known that the file does

  static constexpr std::uint64_t kLooksForEnd = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kEndIsBucket = std::uint64_t{1} << 62;
  static_assert(kLargestFile <= kEndIsBucket);

  explicit WalkState(std::uint64_t state)
      : at(state & ~(kLooksForEnd | kEndIsBucket)),
        looks_for_end((state & kLooksForEnd) != 0),
        end_is_bucket((state & kEndIsBucket) != 0) {}
};

// Returns the key with another search position.
ChunkKey at_place(ChunkKey key, Position at) { return {key.position, (key.state & WalkState::kEndIsBucket) | at}; }

ChunkInfo describe(ChunkKey key, const BucketHeader& header, Position end, std::uint64_t events) {
  ChunkInfo info;
  info.key = key;
  info.begin = header.begin;
  info.end = end;
  info.kind = ChunkKind("bucket");
  info.codec = name_of_compression(header.compression);
  info.records = events;
  if (events == 0) info.decoded_size = 0;
  info.stored_size = end - header.payload;
  info.layout_cost = header.compression == kCompressionNone || events == 0 ? LayoutCost::kSmall : LayoutCost::kDecode;
  info.detail = {header.payload, header.compression | (header.has_attributes ? kHasAttributes : 0)};
  return info;
}

// A search with its own read windows.
class Search {
 public:
  Search(const Source& source, const Limits& limits)
      : limits_(limits), bytes_(source, kSearchWindow), headers_(source, kHeaderWindow) {}

  // Finds the next valid header at or after `from`. Always advances at least one byte. Fails as Source does.
  Result<Framing::Found> next(const RequestContext& context, Position from);
  bool has_read_enough() const { return bytes_.bytes_read() + headers_.bytes_read() >= limits_.scan_bytes; }

 private:
  const Limits& limits_;
  WindowedReader bytes_;
  WindowedReader headers_;
};

Result<Framing::Found> Search::next(const RequestContext& context, Position from) {
  BucketHeader header;
  const auto test = [&](Position at, Bytes) -> Result<Position> {
    ASSIGN_OR_RETURN(const auto reading, read_header(context, headers_, at, limits_, {}, kStraysOfAFoundHeader));
    header = reading.header;
    return reading.verdict == Verdict::kSound ? at : reading.search_from;
  };
  const auto find = [](Bytes window) { return as_text(window).find(as_text(kMagic)); };
  const auto is_spent = [&](Position) { return has_read_enough(); };
  ASSIGN_OR_RETURN(const auto found, resync(context, bytes_, from, {kPreambleSize, find, test, is_spent}));
  return Framing::Found{found, header};
}

}  // namespace

std::string refused_count(const BucketHeader& header, std::uint64_t stored, const Limits& limits) {
  const std::uint64_t most = std::min(limits.records_per_chunk, limits.decoded_chunk / kEventLengthSize);
  if (header.events > most) return fmt::format("{} events in one bucket exceed the limit", header.events);
  if (header.events > most_events(header.compression, stored)) {
    return fmt::format("{} are more than {} can hold", counted(header.events, "event"), counted(stored, "stored byte"));
  }
  return {};
}

bool has_attributes(const ChunkInfo& chunk) { return (chunk.detail[1] & kHasAttributes) != 0; }

std::optional<ChunkKey> Framing::next_after(ChunkKey key, Position end) const {
  return end < source_.size() ? std::optional(at_place({end, key.state}, 0)) : std::nullopt;
}

Result<Step> Framing::scan(const RequestContext& context, ChunkKey key) const {
  if (key.position >= source_.size()) return Step{};
  WindowedReader window(source_, kHeaderWindow);
  ASSIGN_OR_RETURN(auto reading, read_header(context, window, key.position, limits_));
  if (reading.verdict == Verdict::kTorn) return take_torn_header(context, key, reading);
  if (reading.verdict == Verdict::kBroken) return pass_damage(context, key, reading, reading.search_from);
  if (reading.header.stored > source_.size() - reading.header.payload) {
    return take_torn_bucket(context, key, std::move(reading));
  }
  return take_bucket(key, std::move(reading));
}

// Handles a bucket that is completely in the file.
Result<Step> Framing::take_bucket(ChunkKey key, HeaderReading reading) const {
  const BucketHeader& header = reading.header;
  const Position end = header.payload + header.stored;
  Step step{.chunk = std::nullopt, .damage = {}, .next = next_after(key, end)};
  if (std::string reason = refused_count(header, header.stored, limits_); !reason.empty()) {
    step.damage.push_back(damaged_region(header.begin, end, reason));
    return step;
  }
  step.chunk = describe(key, header, end, header.events);
  step.damage = std::move(reading.bad);
  return step;
}

// Returns the complete events of a bucket that is cut off by the end of the file.
Result<EventRun> Framing::events_there(const RequestContext& context, const BucketHeader& header) const {
  const std::uint64_t there = std::min(source_.size() - header.payload, limits_.stored_chunk);
  return find_events(context, source_, header.payload, there, header.events, nullptr);
}

// Handles a payload that ends after the file: either the file was cut off, or the size is wrong. If the size is wrong,
// the payload extends to the next bucket.
Result<Step> Framing::take_torn_bucket(const RequestContext& context, ChunkKey key, HeaderReading reading) const {
  const BucketHeader& header = reading.header;
  const WalkState state(key.state);
  if (std::string reason = refused_count(header, header.stored, limits_); !reason.empty()) {
    reading.reason = std::move(reason);
    return pass_damage(context, key, reading, header.payload);
  }
  if (state.looks_for_end) return take_cut_bucket(context, key, std::move(reading), state.at);
  const bool is_plain = header.compression == kCompressionNone;
  Position from = header.payload;
  if (is_plain && state.at == 0) {
    ASSIGN_OR_RETURN(const auto run, events_there(context, header));
    from += run.end;
    if (run.events < header.events) {
      ASSIGN_OR_RETURN(const auto cut, may_be_cut_message(context, source_, from + kEventLengthSize, limits_));
      if (cut) return end_inside(key, std::move(reading), run.events, from);
      if (!state.end_is_bucket) return take_cut_bucket(context, key, std::move(reading), from);
    }
  }
  ASSIGN_OR_RETURN(const auto found, search(context, state.at == 0 ? from : state.at));
  switch (found.kind) {
    case Found::Kind::kLater: return Step{.chunk = std::nullopt, .damage = {}, .next = at_place(key, found.at)};
    case Found::Kind::kFound: return end_at_bucket(key, header, found.at);
    case Found::Kind::kNothing: break;
  }
  if (!is_plain) return end_inside(key, std::move(reading), 0, header.payload);
  ASSIGN_OR_RETURN(const auto run, events_there(context, header));
  const Position end = run.events < header.events ? header.payload + run.end : source_.size();
  return end_inside(key, std::move(reading), run.events, end);
}

// Handles a bucket with an event that extends beyond the file. The file was cut off, unless it ends in another bucket;
// the search for that begins at `from`.
Result<Step> Framing::take_cut_bucket(const RequestContext& context, ChunkKey key, HeaderReading reading,
                                      Position from) const {
  ASSIGN_OR_RETURN(auto step, look_for_end(context, key, from));
  if (step) return std::move(*step);
  ASSIGN_OR_RETURN(const auto run, events_there(context, reading.header));
  const Position end = reading.header.payload + run.end;
  return end_inside(key, std::move(reading), run.events, end);
}

// Handles a file that ends inside a header, unless it ends in another bucket.
Result<Step> Framing::take_torn_header(const RequestContext& context, ChunkKey key,
                                       const HeaderReading& reading) const {
  Step torn;
  torn.damage.push_back(damaged_region(key.position, source_.size(), reading.reason, DamageClass::kUnfinished));
  if (reading.cut_item == 0) return torn;
  ASSIGN_OR_RETURN(const auto cut, may_be_cut_message(context, source_, reading.cut_item, limits_));
  if (cut) return torn;
  const WalkState state(key.state);
  if (state.end_is_bucket) return pass_damage(context, key, reading, reading.search_from);
  ASSIGN_OR_RETURN(auto step, look_for_end(context, key, state.looks_for_end ? state.at : reading.search_from));
  return step ? std::move(*step) : std::move(torn);
}

// Follows the buckets from `from` on, after one that may be torn. Returns a step if the last of them ends with the
// file, or if the search needs another step.
Result<std::optional<Step>> Framing::look_for_end(const RequestContext& context, ChunkKey key, Position from) const {
  const auto go_on = [&](std::uint64_t state) {
    return std::optional(Step{.chunk = std::nullopt, .damage = {}, .next = ChunkKey{key.position, state}});
  };
  Search search(source_, limits_);
  for (Position at = from;;) {
    ASSIGN_OR_RETURN(const auto found, search.next(context, at));
    if (found.kind == Found::Kind::kNothing) return std::optional<Step>{};
    if (found.kind == Found::Kind::kLater) return go_on(WalkState::kLooksForEnd | found.at);
    const BucketHeader& header = found.header;
    const std::uint64_t there = source_.size() - header.payload;
    const bool is_whole = header.stored <= there && refused_count(header, header.stored, limits_).empty();
    if (is_whole && header.stored == there) return go_on(WalkState::kEndIsBucket);
    at = header.payload + (is_whole ? header.stored : 0);
    if (search.has_read_enough()) return go_on(WalkState::kLooksForEnd | at);
  }
}

// Returns a bucket with a wrong size, whose payload extends to the bucket at `end`.
Step Framing::end_at_bucket(ChunkKey key, const BucketHeader& header, Position end) const {
  Step step{.chunk = std::nullopt, .damage = {}, .next = next_after(key, end)};
  std::string reason = refused_count(header, end - header.payload, limits_);
  if (!reason.empty()) {
    step.damage.push_back(damaged_region(header.begin, end, reason));
    return step;
  }
  step.chunk = describe(key, header, end, header.events);
  step.damage.push_back(
      damaged_region(header.begin, header.payload,
                     fmt::format("a bucket's size of {} bytes exceeds the file, which has another bucket before "
                                 "that",
                                 header.stored)));
  step.damage.back().records_lost = 0;
  return step;
}

// Returns a bucket whose payload is cut off by the end of the file. `events` events up to `end` are complete.
Step Framing::end_inside(ChunkKey key, HeaderReading reading, std::uint64_t events, Position end) const {
  const BucketHeader& header = reading.header;
  const Position size = source_.size();
  Step step{.chunk = describe(key, header, size, events), .damage = std::move(reading.bad), .next = std::nullopt};
  // If no byte of a missing event is present, the region is the header.
  const bool is_part_there = end < size;
  if (!is_part_there) step.damage.clear();
  step.damage.push_back(damaged_region(is_part_there ? end : header.begin, is_part_there ? size : header.payload,
                                       "the file ends inside the payload of a bucket", DamageClass::kUnfinished));
  step.damage.back().records_before = is_part_there ? events : 0;
  step.damage.back().records_lost = header.events - events;
  return step;
}

// No bucket begins at the key's position: continues at the next one.
Result<Step> Framing::pass_damage(const RequestContext& context, ChunkKey key, const HeaderReading& reading,
                                  Position search_from) const {
  Step step;
  const Position begun = WalkState(key.state).at;
  ASSIGN_OR_RETURN(const auto found, search(context, begun == 0 ? search_from : begun));
  if (found.kind == Found::Kind::kLater) {
    step.next = at_place(key, found.at);
    return step;
  }
  step.damage.push_back(damaged_region(key.position, found.at, reading.reason));
  step.next = next_after(key, found.at);
  return step;
}

Result<Framing::Found> Framing::search(const RequestContext& context, Position from) const {
  return Search(source_, limits_).next(context, from);
}

}  // namespace recordfs::proio
