#include "core/formats/riegeli/bulk.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include "core/base/cursor.h"
#include "core/formats/riegeli/unit.h"
#include "core/formats/riegeli/wire.h"
#include "core/hash/highway.h"

namespace recordfs::riegeli {
namespace {

constexpr std::uint64_t kDecodedTogether = 512u << 10;  // bytes of a buffer for the values of several chunks
constexpr std::uint64_t kMostStored = 8u << 20;         // bytes of a chunk, and its records

// The file's bytes from a position on.
class Window {
 public:
  Window(Position begin, Bytes bytes) : begin_(begin), bytes_(bytes) {}

  Position end() const { return begin_ + bytes_.size(); }
  // REQUIRES: the bytes are in the window.
  Bytes at(Position from, std::uint64_t size) const {
    return bytes_.subspan(static_cast<std::size_t>(from - begin_), static_cast<std::size_t>(size));
  }

  // Returns `size` bytes of a chunk from `from` on. If block headers interrupt them, copies them to `joined` without.
  // REQUIRES: they are in the window, and `from` is not inside a block header.
  Bytes without_headers(Position from, std::uint64_t size, MutableBytes joined) const {
    if (!is_interrupted(from, size)) return at(from, size);
    std::uint64_t done = 0;
    for (Position next = from; done < size;) {
      if (next % kBlockSize == 0) next += kBlockHeaderSize;
      const std::uint64_t length = std::min(size - done, kBlockSize - next % kBlockSize);
      copy_bytes(at(next, length), joined.subspan(static_cast<std::size_t>(done)));
      done += length;
      next += length;
    }
    return joined.first(static_cast<std::size_t>(size));
  }

  static bool is_interrupted(Position from, std::uint64_t size) {
    return from % kBlockSize == 0 || from % kBlockSize + size > kBlockSize;
  }

 private:
  const Position begin_;
  const Bytes bytes_;
};

// Returns where the byte after `size` bytes of a chunk is stored, if they begin at `from`.
Position after(Position from, std::uint64_t size) { return position_in_chunk(from, size); }

// A header that may be damaged. Its numbers are those that read() verifies.
struct Declared {
  ChunkHeader header;
  Position end = 0;  // of the chunk
};

// Returns the header of the chunk at `begin`, if it is in the window. The chunk may end after the window. `verifies`:
// only if its hash matches.
std::optional<Declared> declared_at(const Window& window, Position begin, const Limits& limits, bool verifies) {
  std::array<std::byte, kChunkHeaderSize> joined{};
  if (begin + kChunkHeaderSize + kBlockHeaderSize > window.end()) return std::nullopt;
  const Bytes bytes = window.without_headers(begin, kChunkHeaderSize, joined);
  ChunkHeader header{.data_size = load_le<std::uint64_t>(bytes.data() + 8),
                     .data_hash = load_le<std::uint64_t>(bytes.data() + 16),
                     .type = static_cast<ChunkType>(bytes[24]),
                     .num_records = load_le<std::uint64_t>(bytes.data() + 24) >> 8,
                     .decoded_data_size = load_le<std::uint64_t>(bytes.data() + 32)};
  const bool is_plausible = header.type == ChunkType::kSimple && header.data_size <= limits.stored_chunk &&
                            header.num_records <= limits.records_per_chunk && header.data_size <= kMostStored &&
                            header.num_records <= kMostStored &&
                            header.decoded_data_size <= std::min(limits.decoded_chunk, BulkReader::kMostBytes);
  if (!is_plausible) return std::nullopt;
  const Position end = chunk_end(begin, header);
  if (verifies && (!parse_chunk_header(bytes) || !keeps_type_rules(header))) return std::nullopt;
  return Declared{header, end};
}

// Returns whether all block headers inside the chunk's header and data are intact and belong to it.
bool has_sound_blocks(const Window& window, Position begin, const Declared& chunk) {
  const Position content = content_end(begin, chunk.header);
  for (Position block = block_at_or_after(begin); block < content; block += kBlockSize) {
    const auto header = parse_block_header(window.at(block, kBlockHeaderSize));
    if (!header || header->previous_chunk != block - begin || header->next_chunk != chunk.end - block) return false;
  }
  return true;
}

// Adds chunks to a batch.
class Decoder {
 public:
  Decoder(const RequestContext& context, const Window& window, RecordBatch& batch)
      : context_(context), window_(window), batch_(batch) {}

  // Returns false if the chunk is damaged or cannot be decoded. Then some of its records may be in the batch.
  bool add(Position begin, const Declared& chunk) {
    if (!has_sound_blocks(window_, begin, chunk)) return false;
    const auto data = data_of(after(begin, kChunkHeaderSize), chunk.header);
    if (riegeli_hash(data) != chunk.header.data_hash) return false;
    Cursor cursor(data);
    const auto codec = codec_of(cursor.u8());
    const Bytes stored_sizes = cursor.take(cursor.varint64());
    if (!cursor.ok() || !codec) return false;
    const auto sizes = open_unit(context_, *codec, stored_sizes, chunk.header.num_records * kLongestVarint);
    if (!sizes) return false;
    const auto values = values_of(*codec, cursor.rest(), chunk.header.decoded_data_size);
    return values && split(chunk.header.num_records, sizes->bytes(), *values);
  }

 private:
  Bytes data_of(Position from, const ChunkHeader& header) {
    const auto size = static_cast<std::size_t>(header.data_size);
    if (!Window::is_interrupted(from, size)) return window_.at(from, size);
    return window_.without_headers(from, size, new_buffer(size));
  }

  std::optional<Bytes> values_of(CodecId codec, Bytes stored, std::uint64_t size) {
    if (codec == CodecId::kNone) return stored.size() == size ? std::optional(stored) : std::nullopt;
    if (size > decoded_.size()) decoded_ = new_buffer(static_cast<std::size_t>(std::max(size, kDecodedTogether)));
    const MutableBytes out = decoded_.first(static_cast<std::size_t>(size));
    decoded_ = decoded_.subspan(out.size());
    if (!open_unit_into(context_, codec, stored, out)) return std::nullopt;
    return out;
  }

  bool split(std::uint64_t records, Bytes sizes, Bytes values) {
    if (sizes.size() < records) return false;
    Cursor cursor(sizes);
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::uint64_t size = cursor.varint64();
      if (size > values.size()) return false;
      batch_.records.push_back(values.first(static_cast<std::size_t>(size)));
      values = values.subspan(static_cast<std::size_t>(size));
    }
    return cursor.ok() && cursor.at_end() && values.empty();
  }

  MutableBytes new_buffer(std::size_t size) {
    auto buffer = Buffer::allocate(context_, size);
    if (!buffer) throw std::bad_alloc();
    return batch_.buffers.emplace_back(std::move(*buffer)).span();
  }

  const RequestContext& context_;
  const Window& window_;
  RecordBatch& batch_;
  MutableBytes decoded_;  // the free part of the buffer for decoded values
};

// At the file's begin there is a signature; with a state, the blocks are shifted.
bool can_begin_at(ChunkKey at) { return at.position != 0 && at.state == 0; }

// Returns whether the chunk is not completely in the window, and if it is the first one, notes how many bytes it needs.
bool ends_after(const Window& window, const Declared& chunk, ChunkRun& run) {
  if (chunk.end <= window.end()) return false;
  if (run.chunks == 0) run.needs = chunk.end - run.from.position;
  return true;
}

void add(ChunkRun& run, const Declared& chunk) {
  run.next.position = chunk.end;
  run.chunks += 1;
  run.records += chunk.header.num_records;
  run.bytes += chunk.header.decoded_data_size;
}

}  // namespace

ChunkRun SimpleBulkReader::plan(ChunkKey at, Bytes window) const {
  ChunkRun run{.from = at, .next = at};
  if (!can_begin_at(at)) return run;
  const Window stored(at.position, window);
  while (const auto chunk = declared_at(stored, run.next.position, limits_, false)) {
    if (run.bytes + chunk->header.decoded_data_size > kMostBytes) break;
    if (ends_after(stored, *chunk, run)) break;
    add(run, *chunk);
  }
  return run;
}

RecordBatch SimpleBulkReader::read(const RequestContext& context, const ChunkRun& planned, Slice window) const {
  return read_until(context, planned.from, planned.next.position, std::move(window));
}

RecordBatch SimpleBulkReader::read_at(const RequestContext& context, ChunkKey at, Slice window) const {
  return read_until(context, at, can_begin_at(at) ? UINT64_MAX : at.position, std::move(window));
}

RecordBatch SimpleBulkReader::read_until(const RequestContext& context, ChunkKey at, Position end, Slice window) const {
  RecordBatch batch{.run = {.from = at, .next = at}};
  const Window stored(at.position, window.bytes);
  Decoder decoder(context, stored, batch);
  while (batch.run.next.position < end) {
    const Position begin = batch.run.next.position;
    const auto chunk = declared_at(stored, begin, limits_, true);
    if (!chunk || batch.run.bytes + chunk->header.decoded_data_size > kMostBytes) break;
    if (ends_after(stored, *chunk, batch.run) || !decoder.add(begin, *chunk)) break;
    batch.chunks.push_back({begin, chunk->end, chunk->header.num_records});
    add(batch.run, *chunk);
  }
  batch.records.resize(static_cast<std::size_t>(batch.run.records));
  batch.window = std::move(window);
  return batch;
}

}  // namespace recordfs::riegeli
