#include "core/formats/leveldb_log/parts.h"

#include <algorithm>

namespace recordfs::leveldb_log {
namespace {

Error no_longer_sound(Position at) { return {Code::kDamage, at, "a fragment no longer matches its checksum"}; }

}  // namespace

PartsChunk::PartsChunk(std::shared_ptr<const Source> source, const Wire& wire, Layout layout, std::vector<Part> parts)
    : Chunk(std::move(layout)), source_(std::move(source)), wire_(wire), parts_(std::move(parts)) {}

Result<Slice> PartsChunk::read(std::uint64_t offset, std::uint64_t length) const {
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(static_cast<std::size_t>(length)));
  MutableBytes out = bytes.span();
  FrameReader frames(*source_, wire_);
  auto part = std::ranges::upper_bound(parts_, offset, {}, &Part::offset);
  if (part != parts_.begin()) --part;
  for (; !out.empty(); ++part) {
    if (part == parts_.end()) return no_longer_sound(source_->size());
    auto rest = frames.rest_of_frame(part->begin);
    if (!rest) return std::move(rest).error();
    Parsed parsed = parse_fragment(*rest, part->begin, wire_);
    if (parsed.verdict == Verdict::kTooLong || parsed.verdict == Verdict::kShort) {
      rest = frames.largest_fragment(part->begin);
      if (!rest) return std::move(rest).error();
      parsed = parse_fragment(*rest, part->begin, wire_);
    }
    const std::uint64_t skipped = offset - part->offset;
    if (parsed.verdict != Verdict::kSound || parsed.payload.size() <= skipped) return no_longer_sound(part->begin);
    const Bytes wanted = parsed.payload.subspan(static_cast<std::size_t>(skipped));
    const Bytes taken = wanted.first(std::min(wanted.size(), out.size()));
    std::copy(taken.begin(), taken.end(), out.begin());
    out = out.subspan(taken.size());
    offset += taken.size();
  }
  return owned(std::move(bytes));
}

std::uint64_t PartsChunk::memory() const {
  return sizeof(*this) + parts_.capacity() * sizeof(Part) + layout().memory();
}

}  // namespace recordfs::leveldb_log
