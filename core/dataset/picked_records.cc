#include "core/dataset/picked_records.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Some records of one chunk.
struct PickedChunk {
  PlacedRecord first;
  struct Record {
    std::size_t place = 0;    // in the result
    std::uint64_t index = 0;  // in the chunk
  };
  std::vector<Record> records{};
  std::vector<Result<Slice>> read{};  // of each
};

// Returns a copy, so that a record of some bytes does not keep its chunk.
Result<Slice> copied(const RequestContext& context, Result<Slice> record) {
  if (!record) return record;
  ASSIGN_OR_RETURN(auto copy, Buffer::copy_of(context, record->bytes));
  return owned(std::move(copy));
}

void read_records(const RequestContext& context, PickedChunk& picked) {
  const RecordStore& store = *picked.first.store;
  const auto chunk = store.chunks().get_alone(context, picked.first.indexed.chunk);
  for (const PickedChunk::Record& record : picked.records) {
    picked.read.push_back(chunk ? copied(context, store.records().read(context, **chunk, record.index, 0, UINT64_MAX))
                                : Result<Slice>(chunk.error()));
  }
}

// The records that were read so far.
class Picker {
 public:
  Picker(const RequestContext& context, DataSet& set, std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes)
      : context_(context), set_(set), ordinals_(ordinals), most_bytes_(most_bytes), wanted_(ordinals.size()) {
    places_.resize(ordinals.size());
    std::iota(places_.begin(), places_.end(), std::size_t{0});
    std::ranges::stable_sort(places_, {}, [&](std::size_t place) { return ordinals_[place]; });
    results_.resize(ordinals.size());
  }

  Result<std::vector<Result<Slice>>> run(Executor& executor) {
    executor.run_in_order({.tasks = 2 * std::size_t{executor.threads() + 1}, .bytes = most_bytes_},
                          [&] { return next_task(); });
    if (!outcome_) return std::move(outcome_).error();
    std::vector<Result<Slice>> results;
    results.reserve(wanted_);
    for (std::size_t i = 0; i < wanted_; ++i) results.push_back(std::move(*results_[i]));
    return results;
  }

 private:
  std::optional<Executor::OrderedTask> next_task() {
    while (at_ < places_.size() && places_[at_] >= wanted_) ++at_;
    if (at_ == places_.size() || !outcome_) return std::nullopt;
    auto first = place_record(context_, set_, ordinals_[places_[at_]]);
    if (!first) {
      outcome_ = std::move(first).error();
      return std::nullopt;
    }
    const auto picked = std::make_shared<PickedChunk>(PickedChunk{.first = std::move(*first)});
    const std::uint64_t begin = picked->first.base + picked->first.indexed.before.records;
    const std::uint64_t end = picked->first.base + picked->first.indexed.after().records;
    for (; at_ < places_.size() && ordinals_[places_[at_]] < end; ++at_) {
      if (places_[at_] < wanted_) picked->records.push_back({places_[at_], ordinals_[places_[at_]] - begin});
    }
    return Executor::OrderedTask{.run = [this, picked] { read_records(context_, *picked); },
                                 .finish = [this, picked](bool has_run) { return take(*picked, has_run); },
                                 .bytes = picked->first.indexed.chunk.stored_size};
  }

  // If there are too many bytes, drops the second half of the records, again and again.
  bool take(PickedChunk& picked, bool has_run) {
    if (!has_run) outcome_ = shortage("no memory");
    if (!has_run) return false;
    for (std::size_t i = 0; i < picked.records.size(); ++i) {
      const std::size_t place = picked.records[i].place;
      if (place >= wanted_) continue;
      if (picked.read[i]) bytes_ += picked.read[i]->bytes.size();
      results_[place] = std::move(picked.read[i]);
    }
    while (bytes_ > most_bytes_ && wanted_ > 1) {
      const std::size_t all = std::exchange(wanted_, wanted_ / 2);
      for (std::size_t i = wanted_; i < all; ++i) {
        if (results_[i] && *results_[i]) bytes_ -= (*results_[i])->bytes.size();
        results_[i].reset();
      }
    }
    return true;
  }

  const RequestContext& context_;
  DataSet& set_;
  const std::span<const std::uint64_t> ordinals_;
  const std::uint64_t most_bytes_;
  std::size_t wanted_;               // the first so many are returned
  std::vector<std::size_t> places_;  // in ascending order of ordinals
  std::size_t at_ = 0;               // of the next task, in places_
  std::vector<std::optional<Result<Slice>>> results_;
  std::uint64_t bytes_ = 0;
  Result<void> outcome_;
};

}  // namespace

Result<PlacedRecord> place_record(const RequestContext& context, DataSet& set, std::uint64_t ordinal) {
  RecordInShard place{.shard = 0, .ordinal = ordinal};
  // A single shard needs no counts.
  if (set.size() > 1) {
    ASSIGN_OR_RETURN(place, wait_for(context, [&] { return set.locate(ordinal); }));
  }
  ASSIGN_OR_RETURN(auto store, set.open(context, place.shard));
  ASSIGN_OR_RETURN(auto indexed,
                   wait_for(context, [&] { return store->index().find(context, SearchKey::kRecords, place.ordinal); }));
  const std::uint64_t index = place.ordinal - indexed.before.records;
  return PlacedRecord{place.shard, std::move(store), std::move(indexed), ordinal - place.ordinal, index};
}

Result<std::vector<Result<Slice>>> pick_records(const RequestContext& context, DataSet& set, Executor& executor,
                                                std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes) {
  return Picker(context, set, ordinals, most_bytes).run(executor);
}

}  // namespace recordfs
