#include "core/formats/tfrecord/inflating.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/buffer.h"
#include "core/formats/resync.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::size_t kScratch = 32u << 10;
constexpr std::byte kFirstOfGzip{0x1F};
constexpr std::array kMemberMagic{std::byte{0x1F}, std::byte{0x8B}, std::byte{8}};  // includes the only method
constexpr std::uint64_t kLookBack = 4096;  // wrong bytes may decode for this long before the stream breaks
constexpr std::uint64_t kTried = 1024;     // stored bytes of a member that must decode
constexpr int kMostTried = 10000;          // candidate member headers to try; each costs a decoder

}  // namespace

Result<Inflating> Inflating::from(const Source& source, CodecId codec, const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(auto inflater, checkpoint.inflater ? checkpoint.inflater->copy() : Inflater::open(codec));
  Inflating inflating(source, codec, checkpoint, std::move(inflater));
  inflating.at_.inflater.reset();
  return inflating;
}

bool Inflating::is_starved() const { return !window_.held(at_.stored, Inflater::kLookahead); }

std::optional<Error> Inflating::unreadable() const { return source_->unreadable_in(at_.stored, at_.stored + 1); }

// Bytes that cannot be read end the stream. What would be read instead of them may decode to wrong records.
Result<Bytes> Inflating::stored_bytes(const RequestContext& context) {
  ASSIGN_OR_RETURN(const auto stored, window_.from(context.filling_unreadable(), at_.stored, Inflater::kLookahead));
  const auto failure = source_->unreadable_in(at_.stored, at_.stored + stored.size());
  if (!failure) return stored;
  return stored.first(static_cast<std::size_t>(std::max(failure->position, at_.stored) - at_.stored));
}

void Inflating::end_early() {
  const auto failure = unreadable();
  at_.ending = failure ? Ending::kBroken : Ending::kCut;
  if (failure) at_.reason = failure->detail;
}

Result<std::size_t> Inflating::read(const RequestContext& context, MutableBytes out) {
  std::size_t filled = 0;
  while (at_.ending == Ending::kNone && (filled < out.size() || is_starved())) {
    ASSIGN_OR_RETURN(const auto stored, stored_bytes(context));
    ASSIGN_OR_RETURN(auto step, inflater_->step(stored, out.subspan(filled)));
    const bool is_full = filled == out.size();
    filled += step.given;
    at_.stored += step.taken;
    at_.decoded += step.given;
    if (step.verdict == Inflater::Verdict::kBroken) {
      at_.ending = Ending::kBroken;
      at_.reason = std::move(step.reason);
    } else if (step.verdict == Inflater::Verdict::kEnded) {
      TRY(end_member(context));
    } else if (step.taken == 0 && step.given == 0 && !is_full) {
      end_early();
    }
  }
  return filled;
}

// Bytes after a stream must begin another member; anything else is damage.
Result<void> Inflating::end_member(const RequestContext& context) {
  ASSIGN_OR_RETURN(const auto after, stored_bytes(context));
  if (after.empty() && unreadable()) {
    end_early();
  } else if (after.empty()) {
    at_.ending = Ending::kWhole;
  } else if (codec_ == CodecId::kGzip && after.front() == kFirstOfGzip) {
    inflater_->reset();
    at_.member = at_.stored;
  } else {
    at_.ending = Ending::kBroken;
    at_.reason = "bytes after its end";
  }
  return {};
}

Result<bool> Inflating::begins_member(const RequestContext& context, Position at) const {
  ASSIGN_OR_RETURN(const auto stored, read_up_to(context.filling_unreadable(), *source_, at, kTried));
  ASSIGN_OR_RETURN(const auto inflater, Inflater::open(codec_));
  std::array<std::byte, 4 * kTried> decoded;
  ASSIGN_OR_RETURN(const auto step, inflater->step(stored.view(), decoded));
  return step.verdict != Inflater::Verdict::kBroken && step.given > 0;
}

Result<bool> Inflating::resume(const RequestContext& context) {
  if (at_.ending != Ending::kBroken || codec_ != CodecId::kGzip) return false;
  // The stream may have consumed bytes of the next member before it broke.
  const Position least = at_.member + 1;
  const Position from = std::max(least, at_.stored - std::min(at_.stored, kLookBack));
  int tried = 0;
  const auto test = [&](Position at, Bytes) -> Result<Position> {
    ++tried;
    ASSIGN_OR_RETURN(const auto begins, begins_member(context, at));
    return begins ? at : at + 1;
  };
  const auto find = [](Bytes window) { return as_text(window).find(as_text(kMemberMagic)); };
  const auto is_spent = [&](Position) { return tried == kMostTried; };
  ASSIGN_OR_RETURN(const auto found,
                   resync(context.filling_unreadable(), window_, from, {kMemberMagic.size(), find, test, is_spent}));
  if (found.kind != ResyncResult::Kind::kFound) return false;
  ASSIGN_OR_RETURN(inflater_, Inflater::open(codec_));
  at_ = {.stored = found.at, .decoded = at_.decoded + 1, .member = found.at};
  return true;
}

Result<std::uint64_t> Inflating::skip(const RequestContext& context, std::uint64_t size) {
  ASSIGN_OR_RETURN(auto scratch,
                   Buffer::allocate(context, static_cast<std::size_t>(std::min<std::uint64_t>(kScratch, size))));
  for (std::uint64_t skipped = 0; skipped < size;) {
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(scratch.size(), size - skipped));
    ASSIGN_OR_RETURN(const auto got, read(context, scratch.span().first(piece)));
    skipped += got;
    if (got < piece) return skipped;
  }
  return size;
}

Result<Checkpoint> Inflating::here() const {
  ASSIGN_OR_RETURN(auto copy, inflater_->copy());
  Checkpoint checkpoint = at_;
  checkpoint.inflater = std::move(copy);
  return checkpoint;
}

}  // namespace recordfs::tfrecord
