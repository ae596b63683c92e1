#include "core/formats/leveldb_log/bulk.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/cursor.h"
#include "core/hash/crc32.h"
#include "core/hash/crc32c.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::size_t kUsualRecord = 64;  // bytes

// Follows fragments from one to the next, up to the first one that is not an intact part of a record. Counts chunks
// when they are complete, which is when a record begins in a later frame.
//
// `Records` receives the records: verify(fragment, size) returns false if a checksum does not match; begin(), piece()
// and end() receive the pieces of each record; chunk() each complete chunk.
template <class Records>
class Chain {
 public:
  Chain(const Wire& wire, const Limits& limits, ChunkKey at, Bytes window, Records& records)
      : wire_(wire), limits_(limits), window_(window), records_(records), run_{.from = at, .next = at} {}

  ChunkRun follow() {
    if (run_.from.state != 0 || run_.from.position < wire_.first) return run_;
    frame_end_ = wire_.frame_end(run_.from.position);
    while (take_next()) {
    }
    if (run_.chunks == 0 && is_short_) run_.needs = 2 * window_.size();
    return run_;
  }

 private:
  Position position() const { return run_.from.position + at_; }

  bool take_next() {
    const std::uint64_t in_frame = frame_end_ - position();
    const Bytes rest = window_.subspan(at_);
    if (in_frame < kHeaderSize) return skip_trailer(rest, static_cast<std::size_t>(in_frame));
    if (rest.size() < kHeaderSize) return ends_early();
    const auto length = static_cast<std::size_t>(load_le<std::uint16_t>(rest.data() + 4));
    const auto type = std::to_integer<std::uint8_t>(rest[kChecksumBegin]);
    const std::size_t size = kHeaderSize + length;
    if (type == 0 || type > kLastLevelDbType || size > in_frame) return false;
    if (size > rest.size()) return ends_early();
    const bool begins = type <= 2;  // FULL or FIRST
    if (begins == is_open_ || !records_.verify(rest, size)) return false;
    if (begins) begin_record();
    records_.piece(rest.subspan(kHeaderSize, length));
    size_ += length;
    at_ += size;
    if (position() - chunk_begin_ > limits_.stored_chunk) return false;
    is_open_ = type == 2 || type == 3;
    return is_open_ || end_record();
  }

  bool ends_early() {
    is_short_ = true;
    return false;
  }

  bool skip_trailer(Bytes rest, std::size_t size) {
    if (rest.size() < size) return ends_early();
    if (!are_zeros(rest.first(size))) return false;
    at_ += size;
    frame_end_ += kFrameSize;
    return true;
  }

  void begin_record() {
    if (chunk_frame_end_ != frame_end_) {
      if (chunk_frame_end_ != 0) complete_chunk();
      chunk_frame_end_ = frame_end_;
      chunk_begin_ = position();
    }
    size_ = 0;
    records_.begin();
  }

  bool end_record() {
    chunk_end_ = position();
    chunk_bytes_ += size_;
    ++chunk_records_;
    records_.end();
    return chunk_bytes_ <= limits_.decoded_chunk && chunk_records_ <= limits_.records_per_chunk &&
           run_.bytes + chunk_bytes_ <= BulkReader::kMostBytes;
  }

  void complete_chunk() {
    records_.chunk({chunk_begin_, chunk_end_, chunk_records_});
    run_.next = {position(), 0};
    run_.chunks += 1;
    run_.records += std::exchange(chunk_records_, 0);
    run_.bytes += std::exchange(chunk_bytes_, 0);
  }

  const Wire& wire_;
  const Limits& limits_;
  const Bytes window_;
  Records& records_;
  ChunkRun run_;  // complete chunks
  std::size_t at_ = 0;
  Position frame_end_ = 0;  // of the frame of `at_`
  bool is_open_ = false;    // a record has begun and not ended
  bool is_short_ = false;   // the window ends before the chain
  std::uint64_t size_ = 0;  // of that record
  // The current chunk.
  Position chunk_begin_ = 0;
  Position chunk_end_ = 0;
  Position chunk_frame_end_ = 0;  // of the frame in which its records begin; 0: there is no chunk
  std::uint64_t chunk_records_ = 0;
  std::uint64_t chunk_bytes_ = 0;
};

// Counts records, and verifies nothing.
struct NoRecords {
  static bool verify(Bytes, std::size_t) { return true; }
  static void begin() {}
  static void piece(Bytes) {}
  static void end() {}
  static void chunk(const BatchChunk&) {}
};

// Verifies and collects records.
class Collector {
 public:
  Collector(const RequestContext& context, const Wire& wire, RecordBatch& batch)
      : context_(context), is_crc32_(wire.checksum == Wire::Checksum::kCrc32), batch_(batch) {}

  bool verify(Bytes rest, std::size_t size) const {
    const Bytes covered = rest.subspan(kChecksumBegin, size - kChecksumBegin);
    return load_le<std::uint32_t>(rest.data()) == (is_crc32_ ? crc32(covered) : mask_crc(crc32c(covered)));
  }
  void begin() { pieces_.clear(); }
  void piece(Bytes payload) { pieces_.push_back(payload); }
  void chunk(const BatchChunk& complete) { batch_.chunks.push_back(complete); }
  void end() { batch_.records.push_back(pieces_.size() == 1 ? pieces_.front() : joined()); }

 private:
  Bytes joined() {
    std::size_t size = 0;
    for (const Bytes piece : pieces_) size += piece.size();
    auto buffer = Buffer::allocate(context_, size);
    if (!buffer) throw std::bad_alloc();
    MutableBytes rest = buffer->span();
    for (const Bytes piece : pieces_) {
      copy_bytes(piece, rest);
      rest = rest.subspan(piece.size());
    }
    return batch_.buffers.emplace_back(std::move(*buffer)).view();
  }

  const RequestContext& context_;
  const bool is_crc32_;
  RecordBatch& batch_;
  std::vector<Bytes> pieces_;  // of the current record
};

}  // namespace

ChunkRun LogBulkReader::plan(ChunkKey at, Bytes window) const {
  NoRecords none;
  return Chain(wire_, limits_, at, window, none).follow();
}

RecordBatch LogBulkReader::read_at(const RequestContext& context, ChunkKey at, Slice window) const {
  RecordBatch batch;
  batch.records.reserve(window.bytes.size() / kUsualRecord);
  Collector records(context, wire_, batch);
  batch.run = Chain(wire_, limits_, at, window.bytes, records).follow();
  batch.records.resize(static_cast<std::size_t>(batch.run.records));
  batch.window = std::move(window);
  return batch;
}

}  // namespace recordfs::leveldb_log
