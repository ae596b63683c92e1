#include "core/formats/recordio/current/window.h"

#include <algorithm>

namespace recordfs::recordio {
namespace {

Bytes part_of(Bytes bytes, std::uint64_t from, std::uint64_t length) {
  if (from >= bytes.size()) return {};
  const auto begin = static_cast<std::size_t>(from);
  return bytes.subspan(begin, static_cast<std::size_t>(std::min<std::uint64_t>(length, bytes.size() - begin)));
}

}  // namespace

const Window::Slot* Window::held(Position begin) const {
  const auto found = std::ranges::find_if(slots_, [&](const Slot& s) { return s.filled && s.begin == begin; });
  return found == slots_.end() ? nullptr : &*found;
}

Result<Bytes> Window::slot(const RequestContext& context, Position begin) {
  if (const Slot* known = held(begin)) return known->bytes.view();
  if (begin >= size()) return Bytes{};
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  slot.filled = false;
  ASSIGN_OR_RETURN(auto read, read_up_to(context, source_, begin, kFrameSize));
  slot = {begin, std::move(read), true};
  return slot.bytes.view();
}

Result<Bytes> Window::view(const RequestContext& context, Position at, std::uint64_t length) {
  const Position begin = at - at % kFrameSize;
  ASSIGN_OR_RETURN(const auto first, slot(context, begin));
  const Bytes there = part_of(first, at - begin, length);
  if (there.size() == length || first.size() < kFrameSize) return there;
  if (joined_.empty()) {
    ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, 2 * kFrameSize));
    joined_ = std::move(buffer);
  }
  copy_bytes(there, joined_.span());
  std::size_t filled = there.size();
  for (Position next = begin + kFrameSize; filled < length; next += kFrameSize) {
    ASSIGN_OR_RETURN(const auto more, slot(context, next));
    const Bytes piece = part_of(more, 0, length - filled);
    copy_bytes(piece, joined_.span().subspan(filled));
    filled += piece.size();
    if (more.size() < kFrameSize) break;
  }
  return joined_.view().first(filled);
}

Result<Position> Window::data_after_hole(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto bytes, this->slot(context, slot));
  return recordfs::data_after_hole(context, source_, slot + bytes.size(), bytes);
}

Result<std::optional<FrameHeader>> Window::header(const RequestContext& context, Position at) {
  if (at >= size()) return std::optional<FrameHeader>{};
  const Position begin = at - at % kFrameSize;
  if (held(begin) != nullptr) {
    ASSIGN_OR_RETURN(const auto bytes, view(context, at, kFrameHeaderSize));
    return parse_frame_header(bytes);
  }
  std::array<std::byte, kFrameHeaderSize> bytes{};
  ASSIGN_OR_RETURN(const auto got, source_.read_at(context, at, bytes));
  return parse_frame_header(Bytes(bytes).first(got));
}

Result<std::optional<FrameHeader>> Window::sound_header(const RequestContext& context, Position at) {
  ASSIGN_OR_RETURN(const auto frame, view(context, at, kFrameSize));
  auto header = parse_frame_header(frame);
  if (!header || frame.size() < header->used()) return std::optional<FrameHeader>{};
  checked_ += header->used();
  if (!checksum_matches(*header, frame)) return std::optional<FrameHeader>{};
  return header;
}

}  // namespace recordfs::recordio
