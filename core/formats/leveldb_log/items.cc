#include "core/formats/leveldb_log/items.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/hash/crc32c.h"
#include "core/hash/crc_field.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kTypeAt = 6;
// RocksDB also ends a frame early if its control fragment does not fit, which takes six bytes more for each column
// family.
constexpr std::size_t kLongestTrailer = 64;

// With the powers of x for up to a frame.
class Field : public CrcField {
 public:
  explicit Field(const CrcField& field) : CrcField(field), powers_(kFrameSize + kRecyclableHeaderSize) {
    powers_[0] = kOne;
    for (std::size_t i = 1; i < powers_.size(); ++i) powers_[i] = times_byte(powers_[i - 1]);
  }

  // Returns x to the power of the bits in `bytes` bytes, up to a frame.
  std::uint32_t power(std::size_t bytes) const { return powers_[bytes]; }

 private:
  std::vector<std::uint32_t> powers_;
};

const Field& field_of(bool is_plain) {
  static const Field kOfCrc32(kCrc32Field);
  static const Field kOfCrc32c(kCrc32cField);
  return is_plain ? kOfCrc32 : kOfCrc32c;
}

// Multiplies many numbers by the same factor.
class Multiplier {
 public:
  Multiplier(const Field& field, std::uint32_t factor) {
    for (std::size_t nibble = products_.size(); nibble-- > 0;) {
      for (std::uint32_t bit = 8; bit > 0; bit >>= 1, factor = field.times_x(factor)) {
        bases_[nibble][bit] = factor;
      }
    }
    for (std::size_t nibble = 0; nibble < products_.size(); ++nibble) {
      for (std::uint32_t i = 1; i < products_[nibble].size(); ++i) {
        const std::uint32_t lowest = i & (~i + 1);
        products_[nibble][i] = products_[nibble][i ^ lowest] ^ bases_[nibble][lowest];
      }
    }
  }
  std::uint32_t times(std::uint32_t value) const {
    std::uint32_t product = 0;
    for (const auto& products : products_) {
      product ^= products[value & 15];
      value >>= 4;
    }
    return product;
  }

 private:
  std::array<std::array<std::uint32_t, 16>, 8> products_{};
  std::array<std::array<std::uint32_t, 9>, 8> bases_{};
};

constexpr std::uint8_t kLastRecyclable = 8;  // largest type of data fragments with a log number
constexpr std::uint8_t kLastSync = 12;       // likewise, with an offset

// The header size of each known type, and 0 of any other.
using HeaderSizes = std::array<std::uint8_t, 256>;

constexpr HeaderSizes make_header_sizes(const Wire& wire) {
  HeaderSizes sizes{};
  for (std::size_t type = 1; type <= kLastLevelDbType; ++type) sizes[type] = kHeaderSize;
  if (!wire.has_rocksdb_types) return sizes;
  for (std::size_t type = kLastLevelDbType + 1; type <= kLastRecyclable; ++type) sizes[type] = kRecyclableHeaderSize;
  for (const std::size_t type : {9u, 10u, 130u}) sizes[type] = kHeaderSize;
  for (const std::size_t type : {11u, 131u}) sizes[type] = kRecyclableHeaderSize;
  if (!wire.has_sync_offsets) return sizes;
  for (std::size_t type = kLastRecyclable + 1; type <= kLastSync; ++type) sizes[type] = kSyncHeaderSize;
  return sizes;
}

constexpr HeaderSizes kLevelDbHeaders = make_header_sizes({.has_rocksdb_types = false});
constexpr HeaderSizes kRocksDbHeaders = make_header_sizes({});
constexpr HeaderSizes kPebbleHeaders = make_header_sizes({.has_sync_offsets = true});

const HeaderSizes& header_sizes_of(const Wire& wire) {
  if (!wire.has_rocksdb_types) return kLevelDbHeaders;
  return wire.has_sync_offsets ? kPebbleHeaders : kRocksDbHeaders;
}

// Returns the end of the fragment that a header at `at` describes; nullopt if there is no valid header. Called for each
// byte of a frame.
inline std::optional<std::size_t> claimed_end(Bytes bytes, std::size_t at, const HeaderSizes& header_sizes) {
  if (bytes.size() - at < kHeaderSize) return std::nullopt;
  const std::size_t header = header_sizes[std::to_integer<std::uint8_t>(bytes[at + kTypeAt])];
  if (header == 0) return std::nullopt;
  const std::size_t size = header + load_le<std::uint16_t>(&bytes[at + kLengthAt]);
  if (size > kFrameSize || size > bytes.size() - at) return std::nullopt;
  return at + size;
}

// Returns whether `fragment` does not begin a record, or may begin a valid one.
bool begins_well(Bytes fragment, MayBegin may_begin, const HeaderSizes& header_sizes) {
  constexpr std::size_t kMostLookedAt = 512;  // bounded because fragments may be nested
  const auto type = std::to_integer<std::uint8_t>(fragment[kTypeAt]);
  const std::size_t header = header_sizes[type];
  const auto before = header == kSyncHeaderSize ? kLastRecyclable : type > kLastLevelDbType ? kLastLevelDbType : 0;
  const int narrow = type - before;
  constexpr int kFull = 1;
  constexpr int kFirst = 2;
  if (narrow != kFull && narrow != kFirst) return true;
  const Bytes payload = fragment.subspan(header);
  const Bytes beginning = payload.first(std::min(payload.size(), kMostLookedAt));
  return may_begin(beginning, narrow == kFull && beginning.size() == payload.size());
}

bool is_zero(std::byte byte) { return byte == std::byte{0}; }

std::size_t leading_zeros(Bytes bytes) {
  return static_cast<std::size_t>(std::ranges::find_if_not(bytes, is_zero) - bytes.begin());
}

bool is_known(Role role) { return role != Role::kUnknown && role != Role::kIgnorable && role != Role::kFiller; }

Item flawed(Position begin, Position end, Flaw flaw) {
  return {.kind = Item::Kind::kFlawed, .begin = begin, .end = end, .flaw = std::move(flaw)};
}

Item skipped(Position begin, Position end) { return {.kind = Item::Kind::kSkipped, .begin = begin, .end = end}; }

Flaw unknown_type(const Fragment& fragment, std::optional<std::uint64_t> records_lost) {
  return {DamageClass::kUnsupported, fmt::format("unknown fragment type {}", fragment.type), records_lost};
}

bool is_end_mark(Bytes bytes, const Wire& wire) { return wire.has_rocksdb_types && parse_end_mark(bytes); }

// Returns whether a damaged fragment may take the first `size` bytes of `rest`, with `room` to the frame's end: a
// valid fragment or the end follows.
bool may_end_at(Bytes rest, std::size_t size, std::uint64_t room, const Wire& wire) {
  const Bytes after = rest.subspan(size);
  const bool is_end = leading_zeros(after) == after.size() || is_end_mark(after, wire);
  return room - size < kHeaderSize || is_end || is_sound(after, wire);
}

// Returns the size of a fragment whose checksum does not match; 0 if no stated length leads to something valid.
std::size_t believed_size(const StatedSizes& stated, Bytes rest, std::uint64_t room, const Wire& wire) {
  if (stated.own <= rest.size() && may_end_at(rest, stated.own, room, wire)) return stated.own;
  if (stated.other <= rest.size() && is_sound(rest.subspan(stated.other), wire)) return stated.other;
  return 0;
}

// Returns how many records a damaged fragment of known extent cost.
std::optional<std::uint64_t> lost(const Fragment& fragment) {
  if (fragment.role == Role::kFull) return 1;
  return std::nullopt;
}

}  // namespace

// A CRC is linear: the state of a range is the state at its end minus the state at its begin, advanced by the range's
// length.
std::uint32_t SoundPlaces::sum(std::size_t begin, std::size_t end) const {
  const Field& field = field_of(is_plain_);
  const std::uint32_t crc = ~(field.product(~states_[begin], field.power(end - begin)) ^ states_[end]);
  return is_plain_ ? crc : mask_crc(crc);
}

SoundPlaces::SoundPlaces(Bytes bytes, std::size_t frame, bool may_cross, const Wire& wire, MayBegin may_begin)
    : is_plain_(wire.checksum == Wire::Checksum::kCrc32), frame_(frame), zeros_from_(frame), states_(bytes.size() + 1) {
  const Field& field = field_of(is_plain_);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    states_[i + 1] = field.times_byte(states_[i] ^ std::to_integer<std::uint32_t>(bytes[i]));
  }
  while (zeros_from_ > 0 && bytes[zeros_from_ - 1] == std::byte{0}) --zeros_from_;
  stored_.resize(frame);
  for (std::size_t at = 0; at < frame && bytes.size() - at >= 4; ++at) stored_[at] = load_le<std::uint32_t>(&bytes[at]);

  const HeaderSizes& header_sizes = header_sizes_of(wire);
  const std::uint8_t last_data = wire.has_sync_offsets ? kLastSync : kLastRecyclable;
  std::vector<bool> leads(frame + 1);
  // Returns whether the log continues from `end` to the frame's end.
  const auto goes_on = [&](std::size_t end) {
    if (end >= zeros_from_ || frame - end < kHeaderSize) return true;
    if (leads[end] || is_end_mark(bytes.subspan(end, frame - end), wire)) return true;
    // A trailer of a frame at an irregular position.
    for (std::size_t at = end; at < std::min(end + kLongestTrailer, frame) && bytes[at] == std::byte{0}; ++at) {
      if (leads[at + 1]) return true;
    }
    const auto claimed = claimed_end(bytes, end, header_sizes);  // a fragment with only a wrong payload
    return claimed && *claimed < frame && leads[*claimed];
  };
  for (std::size_t at = frame; at-- > 0;) {
    const auto end = claimed_end(bytes, at, header_sizes);
    if (!end || (*end > frame && !may_cross) || stored_[at] != sum(at + kTypeAt, *end)) continue;
    sound_.push_back(static_cast<std::uint32_t>(at));
    leads[at] = *end >= frame || goes_on(*end);
    const bool is_data = std::to_integer<std::uint8_t>(bytes[at + kTypeAt]) <= last_data;
    const Bytes found = bytes.subspan(at, *end - at);
    if (!leads[at] || !is_data || (may_begin != nullptr && !begins_well(found, may_begin, header_sizes))) continue;
    leading_.push_back(static_cast<std::uint32_t>(at));
  }
  std::ranges::reverse(sound_);
  std::ranges::reverse(leading_);
}

std::optional<std::size_t> SoundPlaces::next(std::size_t from) const {
  const auto place = std::ranges::lower_bound(leading_, from);
  return place == leading_.end() ? std::nullopt : std::optional<std::size_t>(*place);
}

std::optional<std::size_t> SoundPlaces::size_by_checksum(std::size_t at, std::size_t frame_size) const {
  const std::size_t begin = at + kTypeAt;
  if (begin >= frame_) return std::nullopt;
  const Field& field = field_of(is_plain_);
  const Multiplier moved(field, ~states_[begin]);
  const std::uint32_t wanted = ~(is_plain_ ? stored_[at] : unmask_crc(stored_[at]));
  const auto ends_at = [&](std::size_t end) {
    return (moved.times(field.power(end - begin)) ^ states_[end]) == wanted;
  };
  // Bytes too few for a header are a trailer only at the end of the frame.
  const std::size_t trailer = frame_size - std::min<std::size_t>(frame_size, kHeaderSize - 1);
  const std::size_t rest = std::max(begin + 1, std::min(zeros_from_, trailer));
  for (auto place = std::ranges::upper_bound(sound_, begin); place != sound_.end() && *place < rest; ++place) {
    if (ends_at(*place)) return *place - at;
  }
  for (std::size_t end = rest; end <= frame_; ++end) {
    if (ends_at(end)) return end - at;
  }
  return std::nullopt;
}

Result<Bytes> FrameReader::rest_of_frame(const RequestContext& context, Position at) {
  const Position end = std::min(wire_.frame_end(at), size());
  const auto length = static_cast<std::size_t>(end - at);
  if (const auto bytes = window_.held(at, length)) return bytes->first(length);
  const Position begin = wire_.frame_begin(at);
  ASSIGN_OR_RETURN(const auto bytes, window_.from(context, begin, end - begin));
  return bytes.subspan(static_cast<std::size_t>(at - begin), length);
}

Result<Bytes> FrameReader::largest_fragment(const RequestContext& context, Position at) {
  const auto wanted = static_cast<std::size_t>(std::min(kFrameSize, size() - at));
  if (const auto bytes = window_.held(at, wanted)) return bytes->first(wanted);
  ASSIGN_OR_RETURN(crossing_, read_exactly(context, window_.source(), at, wanted));
  return crossing_.view();
}

// A fragment ends within its frame, unless bytes were deleted or inserted before it: then frames end at irregular
// positions, up to the next regular one. A fragment across a frame's end is accepted only if that frame alone, read
// from its beginning, gives the same result. So the result depends on nothing else.
Result<Item> ItemReader::next(const RequestContext& context, Position at) {
  ASSIGN_OR_RETURN(auto item, read(context, at));
  const Position frame = wire().frame_begin(at);
  const bool is_led = item.fragment.type != 0;
  if (at == frame && at > wire().origin && item.kind == Item::Kind::kFlawed && !is_led) {
    ASSIGN_OR_RETURN(const auto first, first_in(context, frame));
    if (first <= at) return item;
    return flawed(at, first, {DamageClass::kDamage, "a fragment without its beginning", std::nullopt});
  }
  const Position end = wire().frame_end(at);
  if (item.end <= end) return item;
  ASSIGN_OR_RETURN(const auto exit, exit_of(context, frame));
  if (exit == item.end) return item;
  return flawed(at, end, {DamageClass::kDamage, "a fragment without its end", std::nullopt});
}

Result<Position> ItemReader::first_in(const RequestContext& context, Position frame) {
  if (frame <= wire().origin) return wire().first_in(frame);
  ASSIGN_OR_RETURN(const auto led, is_led(context, frame));
  if (led) return frame;
  ASSIGN_OR_RETURN(const auto end, exit_of(context, frame - kFrameSize));
  return std::max(frame, end);
}

// Returns whether a valid fragment is at the begin of the frame; then no fragment crosses into it.
Result<bool> ItemReader::is_led(const RequestContext& context, Position frame) {
  ASSIGN_OR_RETURN(const auto bytes, frames_.largest_fragment(context, frame));
  return is_sound(bytes, wire());
}

Result<Position> ItemReader::exit_of(const RequestContext& context, Position frame) {
  if (exit_ && exit_->frame == frame) return exit_->end;
  if (!looking_) {
    looking_ = std::make_unique<ItemReader>(*source_, session_);
    looking_->frames_ = FrameReader(*source_, wire(), 1);
  }
  const Position end = std::min(wire().frame_end(frame), size());
  Position at = wire().first_in(frame);
  while (at < end) {
    ASSIGN_OR_RETURN(const auto item, looking_->read(context, at));
    at = item.end;
  }
  exit_ = Exit{frame, at};
  return at;
}

// Returns a valid fragment that extends past the end of its frame.
Result<std::optional<Item>> ItemReader::read_crossing(const RequestContext& context, Position at) {
  const std::optional<Item> none;
  const Position end = wire().frame_end(at);
  if (size() <= end) return none;
  auto bytes = frames_.largest_fragment(context, at);
  if (!bytes) return std::move(bytes).error();
  const Parsed parsed = parse_fragment(*bytes, at, wire());
  if (parsed.verdict != Verdict::kSound || parsed.fragment.end() <= end || !parsed.fragment.is_data()) return none;
  ASSIGN_OR_RETURN(const auto led, is_led(context, end));
  if (led) return none;
  // Read again: is_led() may have overwritten the bytes.
  bytes = frames_.largest_fragment(context, at);
  if (!bytes) return std::move(bytes).error();
  return std::optional(read_sound(parse_fragment(*bytes, at, wire())));
}

Result<const SoundPlaces*> ItemReader::places(const RequestContext& context, Position at) {
  const Position frame = wire().frame_begin(at);
  if (searched_ && searched_->frame == frame) return &searched_->places;
  const Position end = std::min(wire().frame_end(frame), size());
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, *source_, frame, 2 * kFrameSize));
  if (bytes.size() < end - frame) {
    return Error{Code::kChanged, frame + bytes.size(), "the file is shorter than when it was opened"};
  }
  const auto there = static_cast<std::size_t>(end - frame);
  const Bytes after = bytes.view().subspan(there);
  const bool may_cross = !after.empty() && !is_sound(after, wire());
  const Bytes seen = bytes.view().first(may_cross ? bytes.size() : there);
  searched_.emplace(Searched{frame, SoundPlaces(seen, there, may_cross, wire(), session_.may_begin)});
  return &searched_->places;
}

// Returns where the log continues after damage, in the same frame.
Result<std::optional<Position>> ItemReader::search(const RequestContext& context, Position from) {
  ASSIGN_OR_RETURN(const auto found, places(context, from));
  const Position frame = wire().frame_begin(from);
  const auto place = found->next(static_cast<std::size_t>(from - frame));
  return place ? std::optional(frame + *place) : std::nullopt;
}

Result<Item> ItemReader::read(const RequestContext& context, Position at) {
  ASSIGN_OR_RETURN(const auto rest, frames_.rest_of_frame(context, at));
  const Position end = at + rest.size();
  const Position home_end = wire().frame_end(at);
  const bool is_trailer = home_end - at < kHeaderSize;
  if (is_trailer && leading_zeros(rest) == rest.size()) return skipped(at, end);

  if (const auto number = parse_end_mark(rest); number && session_.log_number) return read_end_mark(at, *number);
  const Parsed parsed = parse_fragment(rest, at, wire());
  if (is_trailer || parsed.verdict == Verdict::kTooLong) {
    ASSIGN_OR_RETURN(auto crossing, read_crossing(context, at));
    if (crossing) return std::move(*crossing);
    if (is_trailer) return skipped(at, end);
  }
  switch (parsed.verdict) {
    case Verdict::kSound: return read_sound(parsed);
    case Verdict::kFiller: return read_filling(context, parsed, rest);
    case Verdict::kShort:
      if (is_slack(rest)) return skipped(at, end);
      if (end == home_end) return read_bad(context, parsed, rest);
      return read_unfinished(parsed, rest);
    case Verdict::kTooLong:
    case Verdict::kBadChecksum: return read_bad(context, parsed, rest);
  }
  return skipped(at, end);
}

Result<Position> ItemReader::data_after_hole(const RequestContext& context, Position at) {
  if (at >= size() || at != wire().frame_begin(at)) return at;
  ASSIGN_OR_RETURN(const auto frame, frames_.rest_of_frame(context, at));
  auto data = recordfs::data_after_hole(context, *source_, at + frame.size(), frame);
  if (!data || *data == at + frame.size()) return data ? Result<Position>(at) : data;
  return *data == size() ? size() : wire().frame_begin(*data);
}

Item ItemReader::read_end_mark(Position at, std::uint32_t number) const {
  const Position end = at + kRecyclableHeaderSize;
  if (number == *session_.log_number + 1) return skipped(at, end);
  return flawed(at, end, {DamageClass::kStale, "left from an earlier use of the file", 0});
}

Item ItemReader::read_sound(const Parsed& parsed) const {
  const Fragment& fragment = parsed.fragment;
  Item item{.kind = Item::Kind::kSkipped, .begin = fragment.begin, .end = fragment.end(), .fragment = fragment};
  item.payload = parsed.payload;
  const bool names_codec = fragment.role == Role::kCompression && fragment.begin == 0;
  if (session_.is_stale(fragment)) {
    item.kind = Item::Kind::kFlawed;
    item.flaw = {DamageClass::kStale, "left from an earlier use of the file", 0};
  } else if (fragment.role == Role::kIgnorable) {
    item.kind = Item::Kind::kIgnored;
    item.flaw = unknown_type(fragment, 0);
  } else if (fragment.is_data()) {
    item.kind = Item::Kind::kData;
  } else if (fragment.role != Role::kControl && !(names_codec && fragment.length == kCompressionLength)) {
    item.kind = Item::Kind::kFlawed;
    item.flaw = unknown_type(fragment, std::nullopt);
  }
  return item;
}

// Zeros up to the end of the frame are slack. After a shorter run, the next header may itself begin with zeros, up to
// all its bytes but the type.
Result<Item> ItemReader::read_filling(const RequestContext& context, const Parsed& parsed, Bytes rest) {
  const Position begin = parsed.fragment.begin;
  const Position end = begin + rest.size();
  const std::size_t bare = leading_zeros(rest.first(kHeaderSize));
  const std::size_t zeros =
      bare < kHeaderSize ? kHeaderSize + leading_zeros(rest.subspan(kHeaderSize)) : leading_zeros(rest);
  const Flaw hides{DamageClass::kDamage, "filling inside the log: most readers ignore the rest of its frame", 0};
  if (bare == kHeaderSize && zeros == rest.size()) {
    if (is_slack(rest)) return skipped(begin, end);
    return Item{.kind = Item::Kind::kFilling, .begin = begin, .end = end};
  }
  const std::size_t least = bare < kHeaderSize ? kHeaderSize : 1;
  for (std::size_t back = kHeaderSize; back-- > 0;) {
    if (zeros < back + least || !is_sound(rest.subspan(zeros - back), wire())) continue;
    return flawed(begin, begin + zeros - back, hides);
  }
  if (auto stale = stale_follows(context, {}, end); !stale || *stale) {
    if (!stale) return std::move(stale).error();
    return flawed(begin, end, {DamageClass::kStale, "left from an earlier use of the file", std::nullopt});
  }
  ASSIGN_OR_RETURN(const auto found, search(context, begin + 1));
  return flawed(begin, found.value_or(end),
                {DamageClass::kDamage, "filling that contains bytes that are not a fragment", std::nullopt});
}

// Returns the item for a fragment that does not verify. The checksum does not cover the length: if it matches with
// another length, the length is damaged. Otherwise the stated length is used if it leads to something valid.
// Otherwise the log continues where fragments lead to the frame's end; a log inside the lost payload ends before
// that.
Result<Item> ItemReader::read_bad(const RequestContext& context, const Parsed& parsed, Bytes rest) {
  const Fragment& fragment = parsed.fragment;
  const Position begin = fragment.begin;
  const std::uint64_t room = wire().frame_end(begin) - begin;
  ASSIGN_OR_RETURN(const auto found_places, places(context, begin));
  const Position frame = wire().frame_begin(begin);
  const auto offset = static_cast<std::size_t>(begin - frame);
  if (const auto size = found_places->size_by_checksum(offset, kFrameSize)) {
    return read_until(context, parsed, rest, *size,
                      {DamageClass::kDamage, "a fragment whose length is wrong", lost(fragment)});
  }
  const StatedSizes stated = stated_sizes(fragment);
  if (parsed.verdict == Verdict::kTooLong && rest.size() < room && is_known(fragment.role) && stated.own <= room) {
    return read_unfinished(parsed, rest);
  }
  Flaw flaw{DamageClass::kDamage, "a fragment whose checksum does not match", std::nullopt};
  if (parsed.verdict != Verdict::kBadChecksum) flaw.reason = "a fragment whose length is past the end of its frame";
  const std::size_t size = believed_size(stated, rest, room, wire());
  if (size > 0) {
    flaw.records_lost = lost(fragment);
    return read_until(context, parsed, rest, size, std::move(flaw));
  }
  // Finds the right length also before a fragment of an unknown type.
  if (const auto matched = recordfs::leveldb_log::size_by_checksum(rest, wire());
      matched && may_end_at(rest, *matched, room, wire())) {
    flaw = {DamageClass::kDamage, "a fragment whose length is wrong", lost(fragment)};
    return read_until(context, parsed, rest, *matched, std::move(flaw));
  }
  ASSIGN_OR_RETURN(const auto found, search(context, begin + 1));
  const Position end = found.value_or(begin + rest.size());
  return read_until(context, parsed, rest, static_cast<std::size_t>(end - begin), std::move(flaw));
}

// Returns the flawed item of the first `size` bytes of `rest`: all of them if its end is unknown.
Result<Item> ItemReader::read_until(const RequestContext& context, const Parsed& parsed, Bytes rest, std::size_t size,
                                    Flaw flaw) {
  const Position begin = parsed.fragment.begin;
  const Bytes after = rest.subspan(size);
  ASSIGN_OR_RETURN(const auto stale,
                   stale_follows(context, is_sound(after, wire()) ? after : Bytes{}, begin + rest.size()));
  if (stale) flaw = {DamageClass::kStale, "left from an earlier use of the file", std::nullopt};
  return flawed(begin, begin + size, std::move(flaw));
}

Item ItemReader::read_unfinished(const Parsed& parsed, Bytes rest) const {
  const Position begin = parsed.fragment.begin;
  Flaw flaw{DamageClass::kUnfinished, "the file ends inside a record", 1};
  // If its number is lower, it was overwritten: older logs have lower numbers. No checksum shows that it was ever
  // complete.
  const auto& number = parsed.fragment.log_number;
  if (parsed.verdict == Verdict::kTooLong && session_.log_number && number && *number < *session_.log_number) {
    flaw = {DamageClass::kStale, "left from an earlier use of the file", 0};
  }
  return flawed(begin, begin + rest.size(), std::move(flaw));
}

// Returns whether the first valid fragment after damage is from an earlier use of the file. A new log in a recycled
// file may end in the middle of old fragments. `after` is the rest of the frame, empty if it does not begin with a
// valid fragment; `end` is the end of the frame.
Result<bool> ItemReader::stale_follows(const RequestContext& context, Bytes after, Position end) {
  if (!session_.log_number) return false;
  Parsed parsed;
  if (!after.empty()) {
    parsed = parse_fragment(after, 0, wire());
  } else if (end < size()) {
    ASSIGN_OR_RETURN(const auto frame, read_up_to(context, *source_, end, kFrameSize));
    parsed = parse_fragment(frame.view(), end, wire());
  }
  return parsed.verdict == Verdict::kSound && session_.is_stale(parsed.fragment);
}

// Zeros at the end of a frame or of the file that are too short for a header are not filling.
bool ItemReader::is_slack(Bytes bytes) const {
  const std::size_t widest = wire().has_sync_offsets ? kSyncHeaderSize
                             : session_.recycled     ? kRecyclableHeaderSize
                                                     : kHeaderSize;
  return bytes.size() < widest && leading_zeros(bytes) == bytes.size();
}

}  // namespace recordfs::leveldb_log
