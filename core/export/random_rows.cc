#include "core/export/random_rows.h"

#include <utility>

#include "core/search/wanted_fields.h"

namespace recordfs {

// Thread-safe.
std::shared_ptr<const FieldProjection> RandomRows::fields_of(const PlacedRecord& place) {
  {
    const std::lock_guard lock(mutex_);
    if (whole_shards_.contains(place.shard)) return nullptr;
  }
  const auto shard = shards_.at(place);
  return shard ? std::shared_ptr<const FieldProjection>(*shard, (*shard)->fields()) : nullptr;
}

RenderedRecord RandomRows::render(const RequestContext& context, const PlacedRecord& place, const Chunk& chunk,
                                  std::uint64_t index) {
  const auto shard = shards_.at(place);
  if (!shard) return {.failure = shard.error(), .is_last = true};
  const std::uint64_t first = place.indexed.before.records;
  auto run = (*shard)->encode(
      context, {.info = place.indexed.chunk, .which = {.begin = index, .end = index + 1}, .first_ordinal = first},
      chunk);
  if (!run.failures.empty()) {
    RecordsFailure& failure = run.failures.front();
    const std::lock_guard lock(mutex_);
    if (failure.is_unfit) unfit_.insert(place.base + first + index);
    return {.failure = std::move(failure.why), .is_last = run.is_over};
  }
  const auto text = std::make_shared<const std::string>(run.rows.bytes);
  const std::lock_guard lock(mutex_);
  if (!may_lack_fields(place.indexed.chunk, chunk)) whole_shards_.insert(place.shard);
  rows_[place.base + first + index] = std::move(run.rows);
  return {.bytes = {as_bytes(*text), text}};
}

bool RandomRows::take(std::uint64_t ordinal) {
  RowBytes rows;
  {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.extract(ordinal);
    if (!found.empty()) rows = std::move(found.mapped());
  }
  return take_(rows);
}

bool RandomRows::read(const RandomOptions& order, Reporter& reporter) {
  const RandomTarget target{
      .use = {.render = [this](const RequestContext& working, const PlacedRecord& place, const Chunk& chunk,
                               std::uint64_t index) { return render(working, place, chunk, index); },
              .fields_of = [this](const PlacedRecord& place) { return fields_of(place); }},
      .take = [this](const RandomRecord& record) { return take(record.ordinal); },
      .report =
          [&](std::uint64_t ordinal, const RecordStore& store, const Error& why) {
            const std::lock_guard lock(mutex_);
            return unfit_.erase(ordinal) > 0 ? report_unfit_(store, why) : reporter.report(store, why);
          },
      .condition = options_.condition,
      .types = options_.types,
      .skips_damage = options_.skips_damage};
  return read_in_random_order(order, target, reader_, reporter);
}

}  // namespace recordfs
