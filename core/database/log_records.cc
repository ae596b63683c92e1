#include "core/database/log_records.h"

#include <algorithm>
#include <utility>

#include "core/formats/leveldb_log/wire.h"

namespace recordfs::database {
namespace {

DamagedRegion region_of(const ChunkInfo& chunk, const Error& error) {
  const bool is_damage = error.code == Code::kDamage || error.code == Code::kUnfinished;
  return damaged_region(chunk.begin, chunk.end, to_string(error),
                        is_damage ? DamageClass::kDamage : DamageClass::kUnsupported);
}

class Visit {
 public:
  Visit(const Source& source, const Container& log, LogVisitor& visitor)
      : source_(source), log_(log), visitor_(visitor) {}

  Result<void> run(const RequestContext& context) {
    for (std::optional<ChunkKey> at = log_.traits().first; at;) {
      TRY(context.spend(0));
      ASSIGN_OR_RETURN(const auto after_intact, take_intact(context, *at));
      if (after_intact) {
        at = after_intact;
        continue;
      }
      ASSIGN_OR_RETURN(auto step, log_.scan(context, *at));
      TRY(visitor_.take_mixed_part(context, at->position, step.next ? step.next->position : source_.size()));
      damage_ = step.damage;
      if (step.chunk) TRY(take_chunk(context, *step.chunk));
      TRY(report_until(context, UINT64_MAX));
      at = step.next;
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kFirstWindow = 2 * leveldb_log::kFrameSize;
  static constexpr std::uint64_t kUsualWindow = 16 * leveldb_log::kFrameSize;
  static constexpr std::uint64_t kLargestWindow = 128 * leveldb_log::kFrameSize;  // for large records

  // Takes the intact chunks of a window, which are read and verified together. Returns where the log continues; nullopt
  // if the next chunk has to be scanned.
  Result<std::optional<ChunkKey>> take_intact(const RequestContext& context, ChunkKey at) {
    const BulkReader* const bulk = log_.bulk();
    const std::uint64_t left = source_.size() - std::min(source_.size(), at.position);
    // The last chunk ends the file, so no window shows that it is complete.
    if (bulk == nullptr || at.position < scanned_until_ || left <= leveldb_log::kFrameSize)
      return std::optional<ChunkKey>();
    while (true) {
      auto window = source_.view_at(context, at.position, window_);
      const auto batch = window ? bulk->read_at(context, at, *std::move(window)) : RecordBatch();
      if (batch.run.chunks > 0) {
        if (window_ < kUsualWindow) window_ *= 2;
        TRY(take_batch(batch));
        return std::optional(batch.run.next);
      }
      const bool may_need_more = batch.run.needs > window_ && window_ < std::min(left, kLargestWindow);
      if (!may_need_more) break;
      window_ = std::min(batch.run.needs, kLargestWindow);
    }
    scanned_until_ = at.position + window_;
    window_ = kFirstWindow;
    return std::optional<ChunkKey>();
  }

  Result<void> take_batch(const RecordBatch& batch) {
    std::size_t next = 0;
    for (const BatchChunk& chunk : batch.chunks) {
      for (std::uint64_t index = 0; index < chunk.records; ++index) {
        TRY(visitor_.take_record({{chunk.begin, 0}, index}, batch.records[next++]));
      }
    }
    return {};
  }

  Result<void> take_chunk(const RequestContext& context, const ChunkInfo& info) {
    auto chunk = log_.decode(context, info);
    if (!chunk) {
      if (!is_permanent(chunk.error().code)) return std::move(chunk).error();
      return visitor_.take_damage(context, region_of(info, chunk.error()));
    }
    for (std::uint64_t index = 0; index < (*chunk)->layout().records(); ++index) {
      TRY(report_until(context, index));
      TRY(take(context, info, **chunk, index));
    }
    return {};
  }

  Result<void> take(const RequestContext& context, const ChunkInfo& info, const Chunk& chunk, std::uint64_t index) {
    if (const Error* failure = chunk.layout().failure(index)) {
      return visitor_.take_damage(context, region_of(info, *failure));
    }
    const Extent extent = chunk.layout().extent(index);
    ASSIGN_OR_RETURN(const auto record, chunk.read(context, extent.begin, extent.size));
    return visitor_.take_record({info.key, index}, record.bytes);
  }

  // Reports the damage that precedes a record of the chunk.
  Result<void> report_until(const RequestContext& context, std::uint64_t index) {
    std::size_t reported = 0;
    for (; reported < damage_.size() && damage_[reported].records_before <= index; ++reported) {
      TRY(visitor_.take_damage(context, damage_[reported]));
    }
    damage_.erase(damage_.begin(), damage_.begin() + static_cast<std::ptrdiff_t>(reported));
    return {};
  }

  const Source& source_;
  const Container& log_;
  LogVisitor& visitor_;
  std::vector<DamagedRegion> damage_;
  std::uint64_t window_ = kFirstWindow;  // bytes
  Position scanned_until_ = 0;           // chunks before are not read together
};

}  // namespace

Result<leveldb_log::DatabaseLog> open_log(const RequestContext& context, std::shared_ptr<const Source> source,
                                          const Limits& limits) {
  auto opened = leveldb_log::open_in_database(context, std::move(source), limits);
  if (!opened && opened.error().code == Code::kNoContainer) opened.error().code = Code::kDamage;
  return opened;
}

Result<void> visit_log(const RequestContext& context, const Source& source, const Container& log, LogVisitor& visitor) {
  return Visit(source, log, visitor).run(context);
}

Result<Slice> read_record(const RequestContext& context, const Container& log, const RecordPlace& place) {
  const Error changed{
      .code = Code::kChanged, .position = place.chunk.position, .detail = "the log's record has changed"};
  ASSIGN_OR_RETURN(const auto step, log.scan(context, place.chunk));
  if (!step.chunk) return changed;
  ASSIGN_OR_RETURN(const auto chunk, log.decode(context, *step.chunk));
  if (place.index >= chunk->layout().records() || chunk->layout().failure(place.index) != nullptr) return changed;
  const Extent extent = chunk->layout().extent(place.index);
  return chunk->read(context, extent.begin, extent.size);
}

}  // namespace recordfs::database
