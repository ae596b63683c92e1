#include "core/formats/streamed_chunk.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace recordfs {
namespace {

// The readable part of a broken stream ends at a multiple of this, so that it does not depend on the reads.
constexpr std::size_t kPiece = 64u << 10;

bool can_be_read_in_part(CodecId codec) {
  return codec != CodecId::kNone && codec != CodecId::kSnappy && codec != CodecId::kLzma;
}

}  // namespace

bool StreamedChunk::is_worth(CodecId codec, std::uint64_t payload) {
  return can_be_read_in_part(codec) && payload > kPiece;
}

StreamedChunk::StreamedChunk(Compressed compressed, Layout layout, std::function<Error(Error)> explain)
    : Chunk(std::move(layout)),
      begin_(compressed.begin),
      codec_(compressed.codec),
      payload_(compressed.payload),
      tail_(compressed.tail),
      stream_memory_(compressed.memory),
      memory_(sizeof(*this) + compressed.stored.size() + payload_ + this->layout().memory()),
      explain_(std::move(explain)),
      stored_(std::move(compressed.stored)) {
  assert(this->layout().end() <= payload_);
}

auto StreamedChunk::front() const -> Front {
  const std::lock_guard lock(mutex_);
  return front_;
}

void StreamedChunk::set_front(Buffer bytes) const {
  auto front = std::make_shared<const Buffer>(std::move(bytes));
  const std::lock_guard lock(mutex_);
  front_ = std::move(front);
}

Result<Slice> StreamedChunk::read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const {
  if (length == 0) return Slice{};
  auto front = this->front();
  if (!front || front->size() < offset + length) {
    TRY(decode(context, offset + length));
    front = this->front();
  }
  const Bytes bytes = front->view().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  return Slice{bytes, std::move(front)};
}

Result<void> StreamedChunk::decode(const RequestContext& context, std::uint64_t end) const {
  ASSIGN_OR_RETURN(const auto alone, decoding_.lock(context));
  const auto front = this->front();
  if (front && front->size() >= end) return {};
  if (failure_) return *failure_;
  const std::uint64_t pieces_end = (end + kPiece - 1) / kPiece * kPiece;
  if (!front && pieces_end <= payload_ / 4 * 3) {
    auto first = sound_front(context, static_cast<std::size_t>(pieces_end));
    if (!first) return explain_(std::move(first).error());
    if (first->size() == pieces_end) {
      set_front(std::move(*first));
      return {};
    }
  }
  auto all = decompress_exactly(context, codec_, stream(), payload_, tail_, stream_memory_);
  if (all) {
    set_front(std::move(*all));
    stored_ = Buffer();
    return {};
  }
  if (!is_permanent(all.error().code)) return explain_(std::move(all).error());
  // Excludes the last piece, because the stream did not end correctly after it.
  auto sound = sound_front(context, (payload_ - 1) / kPiece * kPiece);
  if (!sound) return explain_(std::move(sound).error());
  failure_ = explain_(std::move(all).error());
  const bool is_there = sound->size() >= end;
  set_front(std::move(*sound));
  stored_ = Buffer();
  if (is_there) return {};
  return *failure_;
}

// Returns the complete pieces before a broken one. REQUIRES: `most` is a multiple of kPiece.
Result<Buffer> StreamedChunk::sound_front(const RequestContext& context, std::size_t most) const {
  ASSIGN_OR_RETURN(const auto stream, open_stream(codec_, this->stream(), tail_, stream_memory_));
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, is_plausible(this->stream().size(), most) ? most : kPiece));
  std::size_t sound = 0;
  while (sound < most) {
    if (sound == bytes.size()) {
      TRY(bytes.grow(context, std::min(most, 2 * sound)));
    }
    const auto got = stream->read(context, bytes.span().subspan(sound, kPiece));
    if (!got && !is_permanent(got.error().code)) return got.error();
    if (!got || *got < kPiece) break;
    sound += kPiece;
  }
  if (sound == most) return bytes;
  bytes.truncate(sound);
  bytes.fit();
  return bytes;
}

}  // namespace recordfs
