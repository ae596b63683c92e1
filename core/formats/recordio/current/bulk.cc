#include "core/formats/recordio/current/bulk.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "core/formats/recordio/current/chunk_frames.h"
#include "core/formats/recordio/table.h"

namespace recordfs::recordio {
namespace {

// Transformed chunks after the first one are read together up to this many bytes of the file: the content stays in the
// processor's cache, and usual compression keeps it below BulkReader::kMostBytes.
constexpr std::uint64_t kMostTogether = 256u << 10;

// A chunk whose frames' headers fit together. Their checksums are not verified.
struct Framed {
  Bytes frames;
  std::uint64_t stored = 0;  // bytes of all fragments
  bool is_filled = true;     // all fragments are full, except the last one

  std::size_t size() const { return frames.size() / kFrameSize; }
  Bytes frame(std::size_t index) const { return frames.subspan(index * kFrameSize, kFrameSize); }
};

// Returns the chunk of records at the front of `window`, if it is completely in the window and the scan finds the same.
std::optional<Framed> framed_at(Bytes window, bool window_ends_file, const Limits& limits) {
  const auto first = parse_frame_header(window);
  const bool is_here =
      first && first->kind == Kind::kBody && first->index == 0 && first->total <= window.size() / kFrameSize;
  if (!is_here) return std::nullopt;
  Framed chunk{.frames = window.first(first->total * kFrameSize)};
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const auto header = parse_frame_header(chunk.frame(i));
    if (!header || !header->continues(*first, i)) return std::nullopt;
    chunk.stored += header->size;
    chunk.is_filled = chunk.is_filled && (header->size == kLargestFragment || i + 1 == chunk.size());
  }
  // Without a header after it, the chunk may end in its padding.
  const Bytes after = window.subspan(chunk.frames.size());
  const bool has_end = after.empty() ? window_ends_file : parse_frame_header(after).has_value();
  if (!has_end || chunk.stored > limits.stored_chunk) return std::nullopt;
  return chunk;
}

// Adds chunks to a batch.
class Decoder {
 public:
  Decoder(const RequestContext& context, const Transform& transform, const Limits& limits, RecordBatch& batch)
      : context_(context), transform_(transform), limits_(limits), batch_(batch) {}

  // Returns the sum of the records' sizes; nullopt if the chunk is damaged or has to be decoded alone. Then some of its
  // records may be in the batch.
  std::optional<std::uint64_t> add(const Framed& chunk) {
    if (transform_.is_none() && !chunk.is_filled) return std::nullopt;
    const auto stored = verified(chunk);
    const auto content = stored && !transform_.is_none() ? undone(*stored) : stored;
    if (!content || content->size() > limits_.decoded_chunk) return std::nullopt;
    return take_records(*content, limits_, batch_.records);
  }

 private:
  // Returns all fragments, joined.
  std::optional<Bytes> verified(const Framed& chunk) {
    MutableBytes rest;
    if (chunk.size() > 1) rest = memory_for(static_cast<std::size_t>(chunk.stored));
    const MutableBytes joined = rest;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const Bytes frame = chunk.frame(i);
      const auto header = parse_frame_header(frame);
      if (!header || !checksum_matches(*header, frame)) return std::nullopt;
      const Bytes fragment = frame.subspan(kFrameHeaderSize, header->size);
      if (chunk.size() == 1) return fragment;
      copy_bytes(fragment, rest);
      rest = rest.subspan(fragment.size());
    }
    return joined;
  }

  // Returns memory for stored bytes. If they are the content, the batch keeps it.
  MutableBytes memory_for(std::size_t stored) {
    if (transform_.is_none()) return new_buffer(stored);
    if (scratch_.size() < stored) scratch_ = allocated(stored);
    return scratch_.span().first(stored);
  }

  std::optional<Bytes> undone(Bytes stored) {
    const std::uint64_t most = std::min(limits_.decoded_chunk, BulkReader::kMostBytes);
    if (const auto size = transform_.known_size(stored); size && *size <= most) {
      const MutableBytes content = new_buffer(static_cast<std::size_t>(*size));
      if (!transform_.undo_into(context_, stored, content)) return std::nullopt;
      return content;
    }
    Limits limits = limits_;
    limits.decoded_chunk = most;
    auto content = transform_.undo(context_, stored, limits);
    if (!content) return std::nullopt;
    return batch_.buffers.emplace_back(std::move(content->bytes)).view();
  }

  Buffer allocated(std::size_t size) const {
    auto buffer = Buffer::allocate(context_, size);
    if (!buffer) throw std::bad_alloc();
    return std::move(*buffer);
  }
  MutableBytes new_buffer(std::size_t size) { return batch_.buffers.emplace_back(allocated(size)).span(); }

  const RequestContext& context_;
  const Transform& transform_;
  const Limits& limits_;
  RecordBatch& batch_;
  Buffer scratch_;  // stored bytes of a chunk of several frames
};

}  // namespace

CurrentBulkReader::CurrentBulkReader(std::uint64_t file_size, Transform transform, const Limits& limits)
    : file_size_(file_size), transform_(std::move(transform)), limits_(limits) {}

ChunkRun CurrentBulkReader::plan(ChunkKey at, Bytes window) const {
  ChunkRun run{.from = at, .next = at};
  // A body at the file's begin is damage. Frames elsewhere than at multiples of their size follow damage.
  if (at.position == 0 || at.position % kFrameSize != 0 || at.state != 0) return run;
  Bytes rest = window;
  const std::uint64_t most = transform_.is_none() ? kMostBytes : kMostTogether;
  if (const auto first = parse_frame_header(window)) {
    const std::uint64_t needs = std::min(first->total * kFrameSize + kFrameHeaderSize, file_size_ - at.position);
    if (needs > window.size()) run.needs = needs;
  }
  while (const auto chunk = framed_at(rest, ends_file(run.next.position, rest), limits_)) {
    const std::uint64_t together = run.next.position - at.position + chunk->frames.size();
    if (run.chunks > 0 && together > most) break;
    rest = rest.subspan(chunk->frames.size());
    run.next.position += chunk->frames.size();
    run.chunks += 1;
    run.needs = 0;
  }
  return run;
}

RecordBatch CurrentBulkReader::read(const RequestContext& context, const ChunkRun& planned, Slice window) const {
  RecordBatch batch{.run = {.from = planned.from, .next = planned.from}};
  Decoder decoder(context, transform_, limits_, batch);
  ChunkRun& run = batch.run;
  for (Bytes rest = window.bytes; run.chunks < planned.chunks;) {
    const Position begin = run.next.position;
    const auto chunk = framed_at(rest, ends_file(begin, rest), limits_);
    const auto bytes = chunk ? decoder.add(*chunk) : std::nullopt;
    if (!bytes || *bytes > kMostBytes - run.bytes) break;
    rest = rest.subspan(chunk->frames.size());
    const std::uint64_t records = batch.records.size() - run.records;
    run.next.position += chunk->frames.size();
    run.chunks += 1;
    run.records += records;
    run.bytes += *bytes;
    batch.chunks.push_back({begin, run.next.position, records});
  }
  batch.records.resize(static_cast<std::size_t>(run.records));
  batch.window = std::move(window);
  return batch;
}

}  // namespace recordfs::recordio
