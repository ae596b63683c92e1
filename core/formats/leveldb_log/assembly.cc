#include "core/formats/leveldb_log/assembly.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/request_context.h"
#include "core/codec/codec.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::size_t kZstdHeaderSize = 18;   // the largest zstd frame header
constexpr std::uint64_t kZstdBlock = 131072;  // the most that one zstd block decodes to ...
constexpr std::uint64_t kZstdBlockLeast = 4;  // ... and its smallest stored size

// Returns an upper bound for the output of a zstd frame of this size, whatever its header claims.
std::uint64_t most_of_zstd(std::uint64_t stored) { return (stored / kZstdBlockLeast + 1) * kZstdBlock; }

Flaw unfinished() { return {DamageClass::kUnfinished, "the file ends inside a record", 1}; }
Flaw refused(std::uint64_t records) { return {DamageClass::kUnsupported, "record exceeds the limits", records}; }

}  // namespace

std::string_view Compression::codec() const {
  switch (kind) {
    case Kind::kNone: return "none";
    case Kind::kZstd: return "zstd";
    case Kind::kUnknown:
    case Kind::kLost: return "-";
  }
  return "-";
}

void SizeSink::begin(Position at) {
  begin_ = at;
  stored_size_ = 0;
  decoded_size_ = 0;
  stored_.clear();
  failure_.reset();
}

Result<void> SizeSink::piece(const RequestContext& context, const Fragment&, Bytes payload) {
  stored_size_ += payload.size();
  if (!wants_stored()) return {};
  context.announce_growth(stored_, payload.size());
  stored_.insert(stored_.end(), payload.begin(), payload.end());
  return {};
}

// Needs only the frame header, or the whole record if the header does not have the decoded size.
bool SizeSink::wants_stored() const {
  if (compression_.kind != Compression::Kind::kZstd) return false;
  return stored_.size() < kZstdHeaderSize || !zstd_content_size(stored_);
}

Result<std::uint64_t> SizeSink::size(const RequestContext& context, std::uint64_t limit) {
  decoded_size_ = stored_size_;
  if (stored_size_ == 0 || compression_.kind == Compression::Kind::kNone) return decoded_size_;
  decoded_size_ = 1;
  if (compression_.kind == Compression::Kind::kUnknown) {
    failure_ = Error{Code::kUnsupported, begin_, fmt::format("unknown compression {}", compression_.number)};
    return decoded_size_;
  }
  if (compression_.kind == Compression::Kind::kLost) {
    failure_ = Error{Code::kDamage, begin_, "the fragment that names the compression is damaged"};
    return decoded_size_;
  }
  if (const auto declared = zstd_content_size(stored_)) {
    if (*declared <= most_of_zstd(stored_size_)) return decoded_size_ = *declared;
    failure_ = Error{Code::kDamage, begin_, "a zstd frame that declares more content than it can hold"};
    return decoded_size_;
  }
  auto decoded = decompressed_size(context, CodecId::kZstd, stored_, limit);
  if (decoded) return decoded_size_ = *decoded;
  Error why = std::move(decoded).error();
  if (why.code == Code::kOutOfMemory) return why;
  if (why.code == Code::kLimit) return decoded_size_ = limit + 1;
  why.position = begin_;
  failure_ = std::move(why);
  return decoded_size_;
}

Result<void> LayoutSink::keep(const RequestContext& context) {
  if (failure()) {
    keep_failed(context, *failure());
  } else {
    layout_.add(context, decoded_size());
  }
  return {};
}

void DecodeSink::begin(Position at) {
  LayoutSink::begin(at);
  copied_ = 0;
}

Result<void> DecodeSink::piece(const RequestContext& context, const Fragment& fragment, Bytes payload) {
  if (compression().kind == Compression::Kind::kNone) {
    // A record without an end may exceed the buffer; its bytes are dropped later.
    const MutableBytes room =
        payload_.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(kept() + copied_, payload_.size())));
    const Bytes taken = payload.first(std::min(payload.size(), room.size()));
    std::copy(taken.begin(), taken.end(), room.begin());  // std::ranges::copy goes byte by byte here
    copied_ += payload.size();
  }
  return LayoutSink::piece(context, fragment, payload);
}

Result<void> DecodeSink::keep(const RequestContext& context) {
  const std::uint64_t size = decoded_size();
  if (kept() > payload_.size() || size > payload_.size() - kept()) {
    return Error{Code::kDamage, record_begin(), "the records are not those that the scan found"};
  }
  const MutableBytes slot = payload_.subspan(static_cast<std::size_t>(kept()), static_cast<std::size_t>(size));
  if (failure() || compression().kind != Compression::Kind::kZstd || stored().empty()) {
    if (failure()) std::ranges::fill(slot, std::byte{0});
    return LayoutSink::keep(context);
  }
  auto done = decompress_into(context, CodecId::kZstd, stored(), slot);
  if (done) return LayoutSink::keep(context);
  Error why = std::move(done).error();
  if (why.code == Code::kOutOfMemory) return why;
  why.position = record_begin();
  std::ranges::fill(slot, std::byte{0});
  keep_failed(context, why);
  return {};
}

void PieceSink::begin(Position at) {
  LayoutSink::begin(at);
  pieces_.resize(kept_pieces_);
  pending_ = 0;
}

Result<void> PieceSink::piece(const RequestContext& context, const Fragment& fragment, Bytes payload) {
  if (!payload.empty()) {
    context.announce_growth(pieces_);
    pieces_.push_back({kept() + pending_, fragment.begin});
  }
  pending_ += payload.size();
  return LayoutSink::piece(context, fragment, payload);
}

Result<void> PieceSink::keep(const RequestContext& context) {
  kept_pieces_ = pieces_.size();
  return LayoutSink::keep(context);
}

std::vector<Piece> PieceSink::take_pieces() {
  pieces_.resize(kept_pieces_);
  return std::move(pieces_);
}

void add_region(std::vector<DamagedRegion>& regions, DamagedRegion region) {
  DamagedRegion* last = regions.empty() ? nullptr : &regions.back();
  if (last == nullptr || last->end != region.begin || last->damage_class != region.damage_class ||
      last->reason != region.reason || last->records_before != region.records_before) {
    regions.push_back(std::move(region));
    return;
  }
  last->end = region.end;
  if (last->records_lost && region.records_lost) {
    *last->records_lost += *region.records_lost;
  } else {
    last->records_lost.reset();
  }
}

// State: `open_` (a record has begun and not ended) and `in_refused_` (a record is too large to be shown, and its end
// has not been read).
//
//   item          open_ empty                     open_ set
//   FULL          a record                        open_ is dropped; a record
//   FIRST         sets open_                      open_ is dropped and set anew
//   MIDDLE        orphan, or piece of a refusal   a piece
//   LAST          the same, ends a refusal        a piece; a record
//   filling       nothing                         open_ is dropped
//   flawed        its region                      open_ is dropped; its region
//   ignored       its region                      its region
//   skipped       nothing                         nothing
//   end of file   the end                         open_ is dropped as unfinished
//
// After the frame in which it began, an open record takes only items that can continue it. Any other item ends this
// call and is read again by the next one.
Result<Assembly::Place> Assembly::run(const RequestContext& context, Place from) {
  const Wire& wire = items_->wire();
  const Position home = wire.frame_begin(from.position);
  in_refused_ = from.in_refused;
  Position at = from.position;
  while (at < items_->size() && (wire.frame_begin(at) == home || open_)) {
    ASSIGN_OR_RETURN(auto item, items_->next(context, at));
    if (wire.frame_begin(at) != home && !goes_on_with(item)) {
      give_up(&item, at);
      break;
    }
    TRY(take(context, item));
    at = item.end;
  }
  if (open_) give_up(nullptr, at);
  return Place{at, in_refused_};
}

bool Assembly::goes_on_with(const Item& item) {
  switch (item.kind) {
    case Item::Kind::kData: return item.fragment.role == Role::kMiddle || item.fragment.role == Role::kLast;
    case Item::Kind::kSkipped:
    case Item::Kind::kIgnored: return true;
    case Item::Kind::kFilling:
    case Item::Kind::kFlawed: return false;
  }
  return false;
}

Result<void> Assembly::take(const RequestContext& context, const Item& item) {
  if (open_ && !goes_on_with(item)) give_up(&item, item.begin);
  switch (item.kind) {
    case Item::Kind::kData: return take_data(context, item);
    case Item::Kind::kFlawed:
      in_refused_ = false;
      report(item.begin, item.end, item.flaw);
      return {};
    case Item::Kind::kIgnored: report(item.begin, item.end, item.flaw); return {};
    case Item::Kind::kFilling: in_refused_ = false; return {};
    case Item::Kind::kSkipped: return {};
  }
  return {};
}

Result<void> Assembly::take_data(const RequestContext& context, const Item& item) {
  const Role role = item.fragment.role;
  if (role == Role::kFull || role == Role::kFirst) {
    in_refused_ = false;
    open_ = Open{.begin = item.begin};
    sink_->begin(item.begin);
    return take_piece(context, item);
  }
  if (open_) return take_piece(context, item);
  if (in_refused_) {
    report(item.begin, item.end, refused(0));
    in_refused_ = role != Role::kLast;
  } else {
    report(item.begin, item.end, {DamageClass::kDamage, "pieces of a record without its beginning", std::nullopt});
  }
  return {};
}

Result<void> Assembly::take_piece(const RequestContext& context, const Item& item) {
  const Role role = item.fragment.role;
  const bool ends = role == Role::kFull || role == Role::kLast;
  const Position chunk_begin = tally_.records == 0 ? open_->begin : tally_.begin;
  if (item.end - chunk_begin > limits_.stored_chunk) {
    refuse(item.end);
    in_refused_ = !ends;
    return {};
  }
  open_->stored += item.payload.size();
  open_->fragments += 1;
  TRY(sink_->piece(context, item.fragment, item.payload));
  if (ends) return complete(context, item.end);
  return {};
}

Result<void> Assembly::complete(const RequestContext& context, Position end) {
  const std::uint64_t room = limits_.decoded_chunk - std::min(limits_.decoded_chunk, tally_.decoded);
  ASSIGN_OR_RETURN(const auto size, sink_->size(context, room));
  if (size > room || tally_.records >= limits_.records_per_chunk) {
    refuse(end);
    return {};
  }
  TRY(sink_->keep(context));
  if (tally_.records == 0) tally_.begin = open_->begin;
  tally_.end = end;
  tally_.records += 1;
  tally_.decoded += size;
  tally_.stored += open_->stored;
  tally_.fragments += open_->fragments;
  open_.reset();
  return {};
}

// The open record has no end. `cause` is the item in the place of its next piece, or null at the end of the file.
// `end` is where its pieces end.
void Assembly::give_up(const Item* cause, Position end) {
  const Open open = *open_;
  open_.reset();
  Flaw flaw{DamageClass::kDamage, "a record without its end", 1};
  if (cause == nullptr || cause->flaw.damage_class == DamageClass::kUnfinished) {
    flaw = unfinished();
    if (cause != nullptr) flaw.records_lost = 0;  // the following region counts it
  } else if (cause->flaw.damage_class == DamageClass::kStale) {
    flaw.damage_class = DamageClass::kUnfinished;
  } else if (cause->kind == Item::Kind::kData && open.stored == 0) {
    return;  // an empty FIRST at the end of a frame that its writer abandoned: nothing is lost
  }
  report_record(open.begin, end, std::move(flaw));
}

void Assembly::refuse(Position end) {
  report_record(open_->begin, end, refused(1));
  open_.reset();
}

// A record's region replaces those of ignored fragments inside it.
void Assembly::report_record(Position begin, Position end, Flaw flaw) {
  while (!damage_.empty() && damage_.back().begin >= begin) damage_.pop_back();
  report(begin, end, std::move(flaw));
}

void Assembly::report(Position begin, Position end, Flaw flaw) {
  add_region(damage_, {begin, end, flaw.damage_class, tally_.records, flaw.records_lost, std::move(flaw.reason)});
}

}  // namespace recordfs::leveldb_log
