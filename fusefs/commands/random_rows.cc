#include "fusefs/commands/random_rows.h"

#include <utility>

namespace recordfs {

RandomRows::Shard RandomRows::shard_of(const PlacedRecord& place) {
  if (auto known = shards_.find(place.shard)) return *known;
  return shards_.add(place.shard, RecordRows::open(reader_.member(place.shard, place.store, place.base), options_));
}

RenderedRecord RandomRows::render(const RequestContext& context, const PlacedRecord& place, const Chunk& chunk,
                                  std::uint64_t index) {
  const auto shard = shard_of(place);
  if (!shard) return {.failure = shard.error(), .is_last = true};
  const std::uint64_t first = place.indexed.before.records;
  auto run = (*shard)->encode(
      context, {.info = place.indexed.chunk, .which = {.begin = index, .end = index + 1}, .first_ordinal = first},
      chunk);
  if (!run.failures.empty()) return {.failure = std::move(run.failures.front().why), .is_last = run.is_over};
  const auto text = std::make_shared<const std::string>(run.rows.bytes);
  const std::lock_guard lock(mutex_);
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

bool RandomRows::read(const RandomOptions& order, CommandContext& context) {
  const RandomTarget target{
      .render = [this](const RequestContext& working, const PlacedRecord& place, const Chunk& chunk,
                       std::uint64_t index) { return render(working, place, chunk, index); },
      .take = [this](const RandomRecord& record) { return take(record.ordinal); },
      .condition = options_.condition,
      .types = options_.types,
      .skips_damage = options_.skips_damage};
  return read_in_random_order(order, target, reader_, context);
}

}  // namespace recordfs
