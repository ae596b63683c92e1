#include "core/formats/proio/framing.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/proio/payload.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

constexpr std::uint64_t kStraysOfAFoundHeader = 32;

using protobuf::Field;
using protobuf::WireType;

constexpr std::uint64_t kMostFields = 1 << 20;  // of one header
constexpr std::uint64_t kFieldsOfACutMessage = 4096;
constexpr std::uint64_t kBytesOfACutMessage = 64 << 10;
constexpr std::size_t kMostBadEntries = 64;       // reported for one header
constexpr std::uint32_t kHighestFieldNumber = 7;  // of BucketHeader, reserved ones included

// Returns whether writers put such a field into a header. Other fields suggest that this is not a header.
bool is_known(const Field& field) {
  switch (field.number) {
    case header_field::kEvents:
    case header_field::kBucketSize:
    case header_field::kCompression: return field.type == WireType::kVarint;
    case header_field::kFileDescriptor:
    case header_field::kMetadata: return field.type == WireType::kLengthDelimited;
    default: return field.number <= kHighestFieldNumber;
  }
}

// The number of stray fields that a header may still have.
struct Allowance {
  std::uint64_t strays = 0;
  bool all_are_strays = false;

  bool take(bool is_stray) {
    if (!is_stray && !all_are_strays) return true;
    if (strays == 0) return false;
    --strays;
    return true;
  }
};

struct PlacedField {
  Field field;
  Position begin = 0;
  Position content = 0;
};

// Iterates over the fields of a message at [begin, end) of the file.
class FieldWalk {
 public:
  FieldWalk(WindowedReader& window, Position begin, Position end, const Limits& limits, Allowance& allowance)
      : window_(window), at_(begin), end_(end), groups_(limits.nesting_depth), allowance_(allowance) {}

  // Returns the next top-level field, or nullopt at the end and if is_broken(). Fails as Source does.
  Result<std::optional<PlacedField>> next(const RequestContext& context);

  bool is_broken() const { return broken_; }
  // Returns whether it is broken because the message ends inside a field that writers put into a header.
  bool is_cut() const { return cut_; }
  // Whether it is broken because it ends inside a field, and where the content of that field begins, or 0.
  bool ends_early() const { return ends_early_; }
  Position cut_content() const { return cut_content_; }
  // Returns the end of the last complete field.
  Position at() const { return at_; }

 private:
  std::optional<PlacedField> stop(bool ends_early, bool cut) {
    broken_ = true;
    ends_early_ = ends_early;
    cut_ = cut;
    return std::nullopt;
  }
  std::optional<PlacedField> stop_inside(const PlacedField& placed) {
    cut_content_ = placed.content;
    return stop(true, is_known(placed.field));
  }

  WindowedReader& window_;
  Position at_;
  const Position end_;
  protobuf::Groups groups_;
  Allowance& allowance_;
  std::uint64_t fields_left_ = kMostFields;
  bool broken_ = false;
  bool ends_early_ = false;
  bool cut_ = false;
  Position cut_content_ = 0;
};

Result<std::optional<PlacedField>> FieldWalk::next(const RequestContext& context) {
  while (!broken_ && at_ < end_) {
    ASSIGN_OR_RETURN(const auto bytes, window_.from(context, at_, protobuf::kLongestField));
    const std::uint64_t left = end_ - at_;
    Cursor cursor(bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left))));
    const Field field = protobuf::read_field(cursor);
    const bool is_at_end = left < protobuf::kLongestField;
    if (!cursor.ok()) return stop(is_at_end, is_at_end);
    const PlacedField placed{field, at_, at_ + cursor.offset()};
    if (field.size > end_ - placed.content) return stop_inside(placed);
    auto at_top = groups_.note(field);
    if (!at_top || !allowance_.take(!*at_top) || fields_left_-- == 0) return stop(false, false);
    at_ = placed.content + field.size;
    if (*at_top) return std::optional(placed);
  }
  if (!broken_ && !groups_.closed()) return stop(true, true);
  return std::optional<PlacedField>{};
}

void note(const Field& field, BucketHeader& header) {
  if (!is_known(field)) return;
  switch (field.number) {
    case header_field::kEvents: header.events = field.value; break;
    case header_field::kBucketSize: header.stored = field.value; break;
    case header_field::kCompression: header.compression = static_cast<std::uint32_t>(field.value); break;
    case header_field::kFileDescriptor:
    case header_field::kMetadata: header.has_attributes = true; break;
    default: break;
  }
}

class HeaderReader {
 public:
  using Verdict = HeaderReading::Verdict;

  HeaderReader(WindowedReader& window, Position at, const Limits& limits, const ItemVisitor& visit,
               std::uint64_t most_strays)
      : window_(window), limits_(limits), visit_(visit), allowance_{.strays = most_strays} {
    reading_.header.begin = at;
    reading_.search_from = at + 1;
  }

  Result<HeaderReading> read(const RequestContext& context) && {
    const Position begin = reading_.header.begin;
    ASSIGN_OR_RETURN(const auto head, window_.from(context, begin, kPreambleSize));
    if (head.size() < kPreambleSize) return refuse_short(head);
    Cursor cursor(head);
    if (!std::ranges::equal(cursor.take(kMagic.size()), kMagic)) {
      return refuse(Verdict::kBroken, "no bucket begins here");
    }
    const std::uint64_t declared = cursor.u32_le();
    const Position first = begin + kPreambleSize;
    const std::uint64_t there = std::min(declared, window_.source().size() - first);
    FieldWalk walk(window_, first, first + there, limits_, allowance_);
    reading_.search_from = begin + kMagic.size();
    TRY(read_fields(context, walk));
    return judge(walk, first + declared);
  }

 private:
  HeaderReading refuse(Verdict verdict, std::string reason) {
    reading_.verdict = verdict;
    reading_.reason = std::move(reason);
    return std::move(reading_);
  }

  // Handles fewer bytes than a magic and a size, at the end of the file.
  HeaderReading refuse_short(Bytes head) {
    const std::size_t compared = std::min(head.size(), kMagic.size());
    if (std::ranges::equal(head.first(compared), Bytes(kMagic).first(compared))) {
      return refuse(Verdict::kTorn, "the file ends before the size of a bucket's header");
    }
    return refuse(Verdict::kBroken, "no bucket begins here");
  }

  Result<void> read_fields(const RequestContext& context, FieldWalk& walk) {
    while (true) {
      ASSIGN_OR_RETURN(const auto placed, walk.next(context));
      if (!placed) return {};
      const Field& field = placed->field;
      note(field, reading_.header);
      all_known_ = all_known_ && is_known(field);
      allowance_.all_are_strays = !all_known_;
      const bool is_item = field.is(header_field::kFileDescriptor, WireType::kLengthDelimited) ||
                           field.is(header_field::kMetadata, WireType::kLengthDelimited);
      if (is_item) {
        TRY(read_item(context, *placed));
      }
      if (all_known_) reading_.search_from = walk.at();
    }
  }

  Result<void> read_item(const RequestContext& context, const PlacedField& placed) {
    const Position end = placed.content + placed.field.size;
    if (placed.field.number == header_field::kMetadata) {
      FieldWalk entry(window_, placed.content, end, limits_, allowance_);
      while (true) {
        ASSIGN_OR_RETURN(const auto field, entry.next(context));
        if (!field) break;
      }
      if (entry.is_broken()) {
        if (reading_.bad.size() == kMostBadEntries) {
          reading_.bad.back().end = end;
          return {};
        }
        reading_.bad.push_back({.begin = placed.begin,
                                .end = end,
                                .damage_class = DamageClass::kDamage,
                                .records_lost = 0,
                                .reason = "cannot read an entry of the metadata"});
        return {};
      }
    }
    if (!visit_) return {};
    return visit_({placed.field.number, placed.content, placed.field.size});
  }

  HeaderReading judge(const FieldWalk& walk, Position end) {
    const Position size = window_.source().size();
    if (end > size) {
      const std::string reason = fmt::format("a bucket's header of {} extends past the end of the file",
                                             counted(end - reading_.header.begin - kPreambleSize, "byte"));
      reading_.cut_item = walk.cut_content();
      const bool is_header_so_far = all_known_ && (!walk.is_broken() || walk.is_cut());
      return refuse(is_header_so_far ? Verdict::kTorn : Verdict::kBroken, reason);
    }
    if (walk.is_broken()) return refuse(Verdict::kBroken, "a bucket's header is not a valid message");
    reading_.verdict = Verdict::kSound;
    reading_.header.payload = end;
    return std::move(reading_);
  }

  WindowedReader& window_;
  const Limits& limits_;
  const ItemVisitor& visit_;
  HeaderReading reading_;
  Allowance allowance_;
  bool all_known_ = true;
};

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
  info.kind = "bucket";
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

// Returns whether the bytes from `begin` to the end of the file may be a truncated message: complete fields, and one
// that the file cuts off. Examines only a limited number of fields. Fails as Source does. Thread-safe.
Result<bool> may_be_cut_message(const RequestContext& context, const Source& source, Position begin,
                                const Limits& limits) {
  WindowedReader window(source, kHeaderWindow);
  Allowance allowance{.strays = kFieldsOfACutMessage};
  FieldWalk walk(window, begin, source.size(), limits, allowance);
  for (std::uint64_t i = 0; i < kFieldsOfACutMessage && window.bytes_read() < kBytesOfACutMessage; ++i) {
    ASSIGN_OR_RETURN(const auto placed, walk.next(context));
    if (!placed) return !walk.is_broken() || walk.ends_early();
  }
  return true;
}

}  // namespace

Result<HeaderReading> read_header(const RequestContext& context, WindowedReader& window, Position at,
                                  const Limits& limits, const ItemVisitor& visit, std::uint64_t most_strays) {
  return HeaderReader(window, at, limits, visit, most_strays).read(context);
}

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
