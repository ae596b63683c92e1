#include "core/formats/leveldb_log/items.h"

#include <algorithm>

#include <fmt/format.h>

namespace recordfs::leveldb_log {
namespace {

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

Result<const ValidFragments*> ItemReader::places(const RequestContext& context, Position at) {
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
  searched_.emplace(Searched{frame, ValidFragments(seen, there, may_cross, wire(), session_.may_begin)});
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
  if (auto stale = is_stale(context, rest, {}, end); !stale || *stale) {
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
                   is_stale(context, rest, is_sound(after, wire()) ? after : Bytes{}, begin + rest.size()));
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

// Returns whether bytes that are no valid fragment are from an earlier use of the file, as the first valid fragment
// after them is. A new log in a recycled file may end in the middle of old fragments. `after` is the rest of the frame,
// empty if it does not begin with a valid fragment; `end` is the end of the frame.
Result<bool> ItemReader::is_stale(const RequestContext& context, Bytes bytes, Bytes after, Position end) {
  if (!session_.log_number || may_have_been_of_log(bytes, *session_.log_number)) return false;
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
