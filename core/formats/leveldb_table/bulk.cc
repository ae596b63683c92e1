#include "core/formats/leveldb_table/bulk.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "core/formats/leveldb_table/entries.h"

namespace recordfs::leveldb_table {
namespace {

// What a run may have stored, so that usual compression stays below BulkReader::kMostBytes.
constexpr std::uint64_t kMostStored = 256u << 10;

// Gives memory for the records of several blocks.
class RecordMemory {
 public:
  explicit RecordMemory(std::vector<Buffer>& buffers) : buffers_(buffers) {}

  // Throws std::bad_alloc.
  MutableBytes take(const RequestContext& context, std::uint64_t size) {
    if (size > rest_.size()) {
      auto buffer = Buffer::allocate(context, static_cast<std::size_t>(std::max(size, kMostStored)));
      if (!buffer) throw std::bad_alloc();
      buffers_.push_back(std::move(*buffer));
      rest_ = buffers_.back().span();
    }
    const MutableBytes taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

 private:
  std::vector<Buffer>& buffers_;
  MutableBytes rest_{};
};

}  // namespace

// A larger block is read as a step.
TableBulkReader::TableBulkReader(const Survey& survey, const Limits& limits)
    : survey_(survey), limits_([&limits] {
        Limits of_batch = limits;
        of_batch.decoded_chunk = std::min(limits.decoded_chunk, kMostBytes);
        return of_batch;
      }()) {}

// The index says where blocks are, so nothing of the window is looked at.
ChunkRun TableBulkReader::plan(ChunkKey at, Bytes window) const {
  ChunkRun run{.from = at, .next = at};
  if (at.state != 0) return run;
  const auto& pieces = survey_.pieces;
  for (auto piece = std::ranges::lower_bound(pieces, at.position, {}, &Piece::begin);
       piece != pieces.end() && piece->begin == run.next.position && has_records(piece->kind); ++piece) {
    const std::uint64_t stored = piece->end() - at.position;
    if (stored > kMostStored || piece->place().size > limits_.stored_chunk) break;
    if (stored > window.size()) {
      if (run.chunks == 0) run.needs = stored;
      break;
    }
    run.next.position = piece->end();
    run.chunks += 1;
  }
  return run;
}

RecordBatch TableBulkReader::read(const RequestContext& context, const ChunkRun& planned, Slice window) const {
  RecordBatch batch{.run = {.from = planned.from, .next = planned.from}};
  RecordMemory memory(batch.buffers);
  auto piece = std::ranges::lower_bound(survey_.pieces, planned.from.position, {}, &Piece::begin);
  for (; batch.run.chunks < planned.chunks; ++piece) {
    const Bytes stored =
        window.bytes.subspan(static_cast<std::size_t>(piece->begin - planned.from.position), piece->size);
    const Dialect dialect = survey_.dialect_of(piece->begin, piece->kind);
    const auto content = content_of_block(context, stored, piece->begin, dialect, limits_);
    const auto sums = content ? measure_records(content->bytes, dialect, limits_) : std::nullopt;
    if (!sums || batch.run.bytes + sums->size > kMostBytes) break;
    write_records(content->bytes, dialect, memory.take(context, sums->size), batch.records);
    batch.chunks.push_back({piece->begin, piece->end(), sums->count});
    batch.run.next.position = piece->end();
    batch.run.chunks += 1;
    batch.run.records += sums->count;
    batch.run.bytes += sums->size;
  }
  return batch;
}

}  // namespace recordfs::leveldb_table
