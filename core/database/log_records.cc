#include "core/database/log_records.h"

#include <utility>

namespace recordfs::database {
namespace {

DamagedRegion region_of(const ChunkInfo& chunk, const Error& error) {
  const bool is_damage = error.code == Code::kDamage || error.code == Code::kUnfinished;
  return damaged_region(chunk.begin, chunk.end, to_string(error),
                        is_damage ? DamageClass::kDamage : DamageClass::kUnsupported);
}

class Visit {
 public:
  Visit(const Container& log, LogVisitor& visitor) : log_(log), visitor_(visitor) {}

  Result<void> run(const RequestContext& context) {
    for (std::optional<ChunkKey> at = log_.traits().first; at;) {
      TRY(context.spend(0));
      ASSIGN_OR_RETURN(auto step, log_.scan(context, *at));
      damage_ = step.damage;
      if (step.chunk) TRY(take_chunk(context, *step.chunk));
      TRY(report_until(context, UINT64_MAX));
      at = step.next;
    }
    return {};
  }

 private:
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

  const Container& log_;
  LogVisitor& visitor_;
  std::vector<DamagedRegion> damage_;
};

}  // namespace

Result<leveldb_log::DatabaseLog> open_log(const RequestContext& context, std::shared_ptr<const Source> source,
                                          const Limits& limits) {
  auto opened = leveldb_log::open_in_database(context, std::move(source), limits);
  if (!opened && opened.error().code == Code::kNoContainer) opened.error().code = Code::kDamage;
  return opened;
}

Result<void> visit_log(const RequestContext& context, const Container& log, LogVisitor& visitor) {
  return Visit(log, visitor).run(context);
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
