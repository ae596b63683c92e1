#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/bulk.h"
#include "core/formats/chunk.h"
#include "core/formats/tfrecord/container.h"
#include "core/formats/tfrecord/wire.h"
#include "core/hash/crc32c.h"

namespace recordfs::tfrecord {
namespace {

// Largest run of several records. Reading a single record reads its whole run.
constexpr std::uint64_t kRunSize = 256u << 10;
constexpr std::size_t kUsualRecord = 64;  // bytes
constexpr std::uint64_t kLargestNeed = std::uint64_t{1} << 40;

// Follows the headers of a chunk, and calls `see(begin, length)` with the extent of each record's data.
template <class See>
Result<void> each_record(const RequestContext& context, const Source& source, const ChunkInfo& chunk, See see) {
  WindowedReader headers = header_reader(source);
  for (Position at = chunk.begin; at < chunk.end;) {
    ASSIGN_OR_RETURN(const auto header, headers.from(context, at, kHeaderSize));
    const auto length = sound_length(header);
    const std::uint64_t room = chunk.end - at;
    if (!length || room < kFrameSize || *length > room - kFrameSize) return not_as_found(at);
    TRY(see(at + kHeaderSize, *length));
    at += kFrameSize + *length;
  }
  return {};
}

// Returns whether a run of `records` records may get another one, and `size` bytes then.
bool has_room(const Limits& limits, std::uint64_t records, std::uint64_t size) {
  return size <= std::min({kRunSize, limits.stored_chunk, limits.decoded_chunk}) && records < limits.records_per_chunk;
}

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
  return std::max<std::uint64_t>(std::max(kRunSize, next) + kFrameSize, window.size() + 1);
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
    if (run.records > 0 && !has_room(limits, run.records, i + size - run.begin)) {
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
class PlainFile final : public File {
 public:
  PlainFile(std::shared_ptr<const Source> source, const Limits& limits)
      : File(limits, "none", true), source_(std::move(source)), bulk_(limits) {}

  const BulkReader* bulk() const override { return &bulk_; }

  Result<Step> scan(const RequestContext& context, ChunkKey key) const override {
    const Position size = source_->size();
    if (key.position >= size) return Step{};
    if (key.state != 0) return pass_damage(context, key);
    ChunkInfo run;
    run.key = key;
    run.begin = run.end = key.position;
    run.kind = "run";
    run.codec = "none";
    run.records = 0;
    run.decoded_size = 0;
    WindowedReader headers = header_reader(*source_);
    Step step;
    Position last = key.position;  // begin of the run's last record
    for (Position at = key.position; at < size; at = run.end) {
      ASSIGN_OR_RETURN(const auto header, headers.from(context, at, kHeaderSize));
      const auto length = sound_length(header);
      const bool is_whole = length && size - at >= kFrameSize && *length <= size - at - kFrameSize;
      const bool fits =
          is_whole && (run.records == 0u || has_room(limits(), *run.records, at + kFrameSize + *length - run.begin));
      if (!fits && run.records == 0u) {
        const bool is_torn = length || size - at < kHeaderSize;
        if (!is_torn) return pass_damage(context, key);
        step.damage.push_back(damaged_region(at, size, "the file ends inside a record", DamageClass::kUnfinished));
        step.damage.back().records_lost = 1;
        return step;
      }
      // Eight bytes of data and their checksum look like a header of a record that extends past the end of the file.
      if (!is_whole) {
        ASSIGN_OR_RETURN(const auto cut, cut_short_at(context, *source_, last, at));
        if (cut) return step_before(run, last, at, *cut);
      }
      if (!fits) break;
      last = at;
      run.end = at + kFrameSize + *length;
      *run.records += 1;
      *run.decoded_size += *length;
    }
    run.stored_size = run.end - run.begin;
    if (run.end < size) step.next = ChunkKey{run.end, 0};
    step.chunk = run;
    return step;
  }

  Result<Layout> layout(const RequestContext& context, const ChunkInfo& chunk) const override {
    Layout layout;
    TRY(each_record(context, *source_, chunk, [&](Position, std::uint64_t length) -> Result<void> {
      layout.add(context, length);
      return {};
    }));
    return layout;
  }

  Result<Verification> verify(const RequestContext& context, const ChunkInfo& chunk) const override {
    TRY(each_record(context, *source_, chunk, [&](Position begin, std::uint64_t length) -> Result<void> {
      ASSIGN_OR_RETURN(const auto sound, is_sound(context, *source_, begin, length));
      if (!sound) return wrong_data(begin - kHeaderSize, begin + length + kFooterSize);
      return {};
    }));
    return Verification::kVerified;
  }

  Result<std::shared_ptr<const Chunk>> decode(const RequestContext& context, const ChunkInfo& chunk) const override {
    const std::uint64_t size = chunk.end - chunk.begin;
    if (size > limits().stored_chunk || size - kFrameSize > limits().decoded_chunk) {
      return Error{Code::kLimit, chunk.begin, fmt::format("a record of {} bytes exceeds the limit", size - kFrameSize)};
    }
    // A record without bytes that cannot be read still matches its checksum.
    ASSIGN_OR_RETURN(auto stored, read_exactly(context.filling_unreadable(), *source_, chunk.begin, size));
    const auto wrong = [&](std::uint64_t offset, std::uint64_t length) {
      const Position begin = chunk.begin + offset;
      auto error = source_->unreadable_in(begin, begin + length).value_or(wrong_data(begin, begin + length));
      error.position = begin;
      error.end = begin + length;
      return error;
    };
    return split(context, std::move(stored), chunk.begin, wrong);
  }

  Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context,
                                                     const ChunkInfo& chunk) const override {
    if (chunk.records != 1u) return std::shared_ptr<const Chunk>{};
    const std::uint64_t generation = source_->generation();
    Layout layout;
    TRY(each_record(context, *source_, chunk, [&](Position begin, std::uint64_t length) -> Result<void> {
      ASSIGN_OR_RETURN(const auto sound, is_sound(context, *source_, begin, length));
      if (sound) {
        layout.add(context, length);
      } else {
        layout.add_failed(context, length, wrong_data(begin - kHeaderSize, begin + length + kFooterSize));
      }
      return {};
    }));
    const Position data = chunk.begin + kHeaderSize;
    const auto verify = [data, size = layout.end()](const RequestContext& request,
                                                    const Source& source) -> Result<void> {
      ASSIGN_OR_RETURN(const auto sound, is_sound(request, source, data, size));
      return sound ? Result<void>() : wrong_data(data - kHeaderSize, data + size + kFooterSize);
    };
    return std::shared_ptr<const Chunk>(std::make_shared<FileChunk>(
        source_, std::move(layout), FileChunk::stored_at(data), FileChunk::Verified{generation, data, verify}));
  }

 private:
  // Reports the damage at the key's position, where no valid header is. The key's state is where a search continues, or
  // 0.
  Result<Step> pass_damage(const RequestContext& context, ChunkKey key) const {
    Step step;
    std::optional<std::uint64_t> lost;
    std::optional<Position> end;
    if (key.state == 0) {
      ASSIGN_OR_RETURN(const auto known, end_of_damaged(context, *source_, key.position));
      end = known;
      if (end) lost = 1;
    }
    if (!end) {
      ASSIGN_OR_RETURN(const auto found,
                       search(context, *source_, key.state == 0 ? key.position + 1 : key.state, limits().scan_bytes));
      if (found.kind == ResyncResult::Kind::kLater) {
        step.next = ChunkKey{key.position, found.at};
        return step;
      }
      end = found.at;
    }
    step.damage.push_back(damaged_region(key.position, *end, "a length that does not match its checksum"));
    step.damage.back().records_lost = lost;
    if (*end < source_->size()) step.next = ChunkKey{*end, 0};
    return step;
  }

  // Returns the step of the run without its last record, which is too short. The next record is at `found`.
  static Step step_before(ChunkInfo run, Position last, Position end, Position found) {
    Step step;
    *run.records -= 1;
    *run.decoded_size -= end - last - kFrameSize;
    run.end = last;
    run.stored_size = run.end - run.begin;
    step.damage.push_back(damaged_region(last, found, "truncated record"));
    step.damage.back().records_lost = 1;
    step.damage.back().records_before = *run.records;
    if (*run.records > 0) step.chunk = run;
    step.next = ChunkKey{found, 0};
    return step;
  }

  const std::shared_ptr<const Source> source_;
  const RunBulkReader bulk_;
};

}  // namespace

std::unique_ptr<Container> open_plain(std::shared_ptr<const Source> source, const Limits& limits) {
  return std::make_unique<PlainFile>(std::move(source), limits);
}

}  // namespace recordfs::tfrecord
