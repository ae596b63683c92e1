#include "core/dataset/column_totals.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/columns/row_schema.h"
#include "core/dataset/column_counters.h"
#include "core/dataset/recent_shards.h"
#include "core/decoding/message_schema.h"

namespace recordfs {
namespace {

using Undecoded = UndecodedRecords::Summary;

// The columns of the records of a chunk.
struct ChunkColumns {
  ColumnCounter counter{};
  Undecoded undecoded{};
  std::vector<Error> failures{};  // of records that cannot be read
};

// Counts records in any order. Thread-safe, except add_to().
class SampleCounter {
 public:
  // The arguments must outlive the object.
  SampleCounter(const SetReader& reader, const UserTypes& types, const ConditionPointer& condition)
      : types_(types), selects_(scalar_selector(condition)), shards_(reader, [&types](SetMember member) {
          return std::make_shared<const Shard>(std::move(member), types);
        }) {}

  // Returns why a record cannot be read, if so, and nothing else.
  RenderedRecord count(const RequestContext& request, const PlacedRecord& place, const Chunk& chunk,
                       std::uint64_t index) {
    const auto shard = shards_.at(place);
    const auto record = place.store->records().read(request, chunk, index, 0, UINT64_MAX);
    if (!record) return {.failure = record.error()};
    const auto counted = counters_.with_one([&](ColumnCounter& counter) {
      return counter.count(request, shard->decoder, place.indexed.chunk, record->bytes, shard->member.path_in_set(),
                           selects_);
    });
    const std::lock_guard lock(mutex_);
    if (first_shard_ == nullptr) first_shard_ = shard;
    if (counted) return {};
    if (!UndecodedRecords::is_of_record(counted.error().code)) return {.failure = counted.error()};
    const std::uint64_t ordinal = place.base + place.indexed.before.records + index;
    undecoded_[ordinal].note(place.indexed.chunk, shard->member.path, counted.error());
    // Only the first one is described.
    if (undecoded_.size() > 2) undecoded_.begin()->second.add(undecoded_.extract(std::prev(undecoded_.end())).mapped());
    return {};
  }

  // Adds all that was counted, and what could not be.
  void add_to(ColumnStatistics& columns, Undecoded& undecoded) {
    counters_.add_to(columns);
    if (first_shard_ != nullptr) declare_types_of(first_shard_->member.store, types_, columns);
    for (const auto& [ordinal, one] : undecoded_) undecoded.add(one);
  }

 private:
  struct Shard {
    Shard(SetMember opened, const UserTypes& types)
        : member(std::move(opened)), decoder(member.store->schema(), member.store->metadata(), types) {}
    const SetMember member;
    const RecordDecoder decoder;
  };

  const UserTypes& types_;
  const SelectScalar selects_;
  RecentShards<std::shared_ptr<const Shard>> shards_;
  ColumnCounters counters_;
  std::mutex mutex_;                              // guards the following
  std::shared_ptr<const Shard> first_shard_;      // that was read first
  std::map<std::uint64_t, Undecoded> undecoded_;  // by ordinal; the first one stands for others
};

}  // namespace

bool ColumnTotals::add(const SetMember& member, DamageReporter& damage) {
  const RecordStore& store = *member.store;
  const RecordDecoder decoder(store.schema(), store.metadata(), options_.types);
  const SelectScalar selects = scalar_selector(condition_);
  const auto count_record = [&](const RequestContext& request, const IndexedChunk& indexed, const Chunk& chunk,
                                std::uint64_t index, ChunkColumns& counted) -> Result<void> {
    if (const Error* const why = chunk.layout().failure(index)) return *why;
    ASSIGN_OR_RETURN(const auto record, store.records().read(request, chunk, index, 0, UINT64_MAX));
    if (condition_) {
      ASSIGN_OR_RETURN(const bool is_selected,
                       condition_->matches(request, decoder, indexed.chunk, record.bytes,
                                           {.path = member.path, .path_in_set = member.path_in_set()}));
      if (!is_selected) return {};
    }
    auto done = counted.counter.count(request, decoder, indexed.chunk, record.bytes, member.path_in_set(), selects);
    if (done || !UndecodedRecords::is_of_record(done.error().code)) return done;
    counted.undecoded.note(indexed.chunk, member.path, done.error());
    return {};
  };
  const auto count = [&](const RequestContext& request, const IndexedChunk& indexed) -> OrderedResult {
    const auto counted = std::make_shared<ChunkColumns>();
    const auto chunk = store.chunks().decode_ahead(request, indexed.chunk);
    if (!chunk) counted->failures.push_back(chunk.error());
    for (std::uint64_t i = 0; chunk && i < (*chunk)->layout().records(); ++i) {
      const auto done = count_record(request, indexed, **chunk, i, *counted);
      if (!done) counted->failures.push_back(done.error());
    }
    return [this, &store, counted] {
      columns_.add(counted->counter);
      undecoded_.add(counted->undecoded);
      for (const Error& why : counted->failures) reporter_.report(store, why);
      return true;
    };
  };
  const auto end = damage.read({.store = store}, {.threads = reporter_.threads()}, count);
  declare_types_of(member.store, options_.types, columns_);
  records_ += end.value_or(0);
  return end.has_value();
}

void ColumnTotals::add(SetReader& reader) {
  for (std::size_t shard = 0; shard < reader.set().size(); ++shard) {
    if (reader.set().failure(shard)) continue;
    const auto member = reader.member(shard, 0);
    if (!member) continue;
    DamageReporter damage(member->path, *member->store, reporter_);
    add(*member, damage);
  }
}

void ColumnTotals::add_sample(SetReader& reader, const RandomOptions& sample) {
  SampleCounter counter(reader, options_.types, condition_);
  const RandomTarget target{
      .use = {.render = [&counter](const RequestContext& request, const PlacedRecord& place, const Chunk& chunk,
                                   std::uint64_t index) { return counter.count(request, place, chunk, index); }},
      .take = [this](const RandomRecord&) { return reporter_.goes_on(); },
      .condition = condition_,
      .types = options_.types,
      .skips_damage = true};
  read_in_random_order(sample, target, reader, reporter_);
  counter.add_to(columns_, undecoded_);
}

}  // namespace recordfs
