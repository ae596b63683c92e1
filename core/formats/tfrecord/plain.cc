#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/bulk.h"
#include "core/formats/chunk.h"
#include "core/formats/tfrecord/container.h"
#include "core/formats/tfrecord/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

constexpr std::size_t kUsualRecord = 64;  // bytes
constexpr std::uint64_t kLargestNeed = std::uint64_t{1} << 40;

// Returns whether the record that is stored in `frame` and its header match their checksums.
bool is_intact(Bytes frame) {
  const Bytes data = frame.subspan(kHeaderSize, frame.size() - kFrameSize);
  return sound_length(frame) && footer_matches(frame.last(kFooterSize), crc32c(data));
}

// The run that follow() is in.
struct CurrentRun {
  std::size_t begin = 0;  // in the window
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

// Adds a run that is complete. With `batch`, verifies its records; returns false if one is damaged.
bool add(const CurrentRun& run, std::size_t end, Bytes window, ChunkRun& done, RecordBatch* batch) {
  if (batch != nullptr) {
    const auto records = std::span(batch->records).subspan(static_cast<std::size_t>(done.records));
    for (const Bytes data : records.first(static_cast<std::size_t>(run.records))) {
      const auto offset = static_cast<std::size_t>(data.data() - window.data()) - kHeaderSize;
      if (!is_intact(window.subspan(offset, data.size() + kFrameSize))) return false;
    }
    batch->chunks.push_back({done.next.position, done.from.position + end, run.records});
  }
  done.next.position = done.from.position + end;
  done.chunks += 1;
  done.records += run.records;
  done.bytes += run.bytes;
  return true;
}

// Returns how large the window has to be for its first run, whose records end at `end` in this one.
std::uint64_t needed(Bytes window, std::size_t end) {
  const Bytes rest = window.subspan(end);
  std::uint64_t next = end;
  if (rest.size() >= kHeaderSize) next += std::min(load_le<std::uint64_t>(rest.data()), kLargestNeed);
  return std::max<std::uint64_t>(std::max(framed::kRunSize, next) + kFrameSize, window.size() + 1);
}

// Follows records from one to the next, up to the first one that is not intact. A run is complete when the next record
// is seen not to belong to it. Then its records are verified, so that none is verified twice. Without `batch`, verifies
// nothing.
ChunkRun follow(const Limits& limits, ChunkKey at, Bytes window, RecordBatch* batch) {
  ChunkRun done{.from = at, .next = at};
  if (at.state != 0) return done;
  const std::uint64_t most =
      std::min(limits.stored_chunk - std::min(limits.stored_chunk, kFrameSize), limits.decoded_chunk);
  CurrentRun run;
  std::size_t i = 0;
  while (window.size() - i >= kFrameSize) {
    const auto length = load_le<std::uint64_t>(window.data() + i);
    if (length > window.size() - i - kFrameSize) break;
    const std::size_t size = kFrameSize + static_cast<std::size_t>(length);
    if (run.records > 0 && !run_has_room(limits, run.records, i + size - run.begin, run.bytes + length)) {
      if (batch != nullptr && !sound_length(window.subspan(i))) return done;
      if (done.bytes + run.bytes > BulkReader::kMostBytes || !add(run, i, window, done, batch)) return done;
      run = {.begin = i};
    }
    if (length > most) return done;
    if (batch != nullptr) batch->records.push_back(window.subspan(i + kHeaderSize, static_cast<std::size_t>(length)));
    run.records += 1;
    run.bytes += length;
    i += size;
  }
  if (done.chunks == 0) done.needs = needed(window, i);
  return done;
}

class RunBulkReader final : public BulkReader {
 public:
  explicit RunBulkReader(const Limits& limits) : limits_(limits) {}

  ChunkRun plan(ChunkKey at, Bytes window) const override { return follow(limits_, at, window, nullptr); }

  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override {
    return read_at(context, planned.from, std::move(window));
  }
  RecordBatch read_at(const RequestContext&, ChunkKey at, Slice window) const override {
    RecordBatch batch;
    batch.records.reserve(window.bytes.size() / kUsualRecord);
    batch.run = follow(limits_, at, window.bytes, &batch);
    batch.records.resize(static_cast<std::size_t>(batch.run.records));
    batch.window = std::move(window);
    return batch;
  }

 private:
  const Limits limits_;
};

// An uncompressed TFRecord file. Its chunks are runs of records.
class PlainFile final : public FramedContainer<Wire> {
 public:
  PlainFile(const std::shared_ptr<const Source>& file, const Limits& limits)
      : FramedContainer(file, limits, Wire(), 0, file->size()),
        traits_(traits_of("none", true)),
        schema_(schema_of(limits)),
        bulk_(limits) {}

  const ContainerTraits& traits() const override { return traits_; }
  const RecordSchema& schema() const override { return schema_; }
  const BulkReader* bulk() const override { return &bulk_; }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    return verify_records(context, chunk);
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    const std::uint64_t size = chunk.end - chunk.begin;
    if (size > limits().stored_chunk || size - kFrameSize > limits().decoded_chunk) {
      return framed::too_large(chunk.begin, size - kFrameSize);
    }
    // A record without bytes that cannot be read still matches its checksum.
    ASSIGN_OR_RETURN(auto stored, read_exactly(context.filling_unreadable(), *source(), chunk.begin, size));
    const auto wrong = [&](std::uint64_t offset, std::uint64_t length) {
      const Position begin = chunk.begin + offset;
      const Position end = begin + length;
      auto error = source()->unreadable_in(begin, end).value_or(Wire::wrong_content(begin, end));
      error.position = begin;
      error.end = end;
      return error;
    };
    return split(context, std::move(stored), chunk.begin, wrong);
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (chunk.records != 1u) return std::shared_ptr<const Chunk>{};
    const std::uint64_t generation = source()->generation();
    WindowedReader headers = framed::header_reader(*source());
    ASSIGN_OR_RETURN(const auto header, framed::header_at<Wire>(context, headers, chunk.begin, chunk.end));
    if (!header) return framed::not_as_found(chunk.begin);
    return record_in_place(context, generation, chunk.begin, *header, header->length,
                           FileChunk::stored_at(chunk.begin + kHeaderSize));
  }

 private:
  DamagedRegion region_without_record(Position begin, Position end) const override {
    return damaged_region(begin, end, "a length that does not match its checksum");
  }
  DamagedRegion torn_region(Position begin) const override {
    auto region = damaged_region(begin, source()->size(), "the file ends inside a record", DamageClass::kUnfinished);
    region.records_lost = 1;
    return region;
  }

  const ContainerTraits traits_;
  const RecordSchema schema_;
  const RunBulkReader bulk_;
};

}  // namespace

std::unique_ptr<Container> open_plain(const std::shared_ptr<const Source>& source, const Limits& limits) {
  return std::make_unique<PlainFile>(source, limits);
}

}  // namespace recordfs::tfrecord
