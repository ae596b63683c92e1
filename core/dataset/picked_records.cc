#include "core/dataset/picked_records.h"

#include <algorithm>
#include <compare>
#include <memory>
#include <string>
#include <utility>

#include "core/dataset/record_stream.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

Result<PlacedRecord> find_record(const RequestContext& context, DataSet& set, std::uint64_t ordinal) {
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

// Some records of one chunk, copied into one buffer, so that small ones need no memory of their own.
struct PickedChunk {
  struct Record {
    std::size_t place = 0;    // in the result
    std::uint64_t index = 0;  // in the chunk
    Bytes bytes{};
  };
  struct Failure {
    std::size_t record = 0;  // of `records`
    Error why;
  };

  PlacedRecord first;
  std::vector<Record> records{};
  std::vector<Failure> failures{};
  Slice copy{};
};

std::uint64_t bytes_of(const PickedChunk& picked) {
  std::uint64_t bytes = 0;
  for (const PickedChunk::Record& record : picked.records) bytes += record.bytes.size();
  return bytes;
}

// Copies the records of a chunk into a buffer of their own, in place of what they point into.
Result<void> copy_records(const RequestContext& context, PickedChunk& picked) {
  ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, static_cast<std::size_t>(bytes_of(picked))));
  std::size_t at = 0;
  for (PickedChunk::Record& record : picked.records) {
    copy_bytes(record.bytes, buffer.span().subspan(at));
    record.bytes = buffer.view().subspan(at, record.bytes.size());
    at += record.bytes.size();
  }
  picked.copy = owned(std::move(buffer));
  return {};
}

// Reads the records, each with its failure.
void read_records(const RequestContext& context, PickedChunk& picked) {
  const auto fail_all = [&](const Error& why) {
    picked.failures.clear();
    for (std::size_t i = 0; i < picked.records.size(); ++i) {
      picked.records[i].bytes = {};
      picked.failures.push_back({i, why});
    }
  };
  const RecordStore& store = *picked.first.store;
  const auto chunk = store.chunks().get_alone(context, picked.first.indexed.chunk);
  if (!chunk) return fail_all(chunk.error());
  std::vector<Slice> owners;  // until the records are copied
  for (std::size_t i = 0; i < picked.records.size(); ++i) {
    auto read = store.records().read(context, **chunk, picked.records[i].index, 0, UINT64_MAX);
    if (!read) {
      picked.failures.push_back({i, std::move(read).error()});
      continue;
    }
    picked.records[i].bytes = read->bytes;
    if (owners.empty() || owners.back().owner != read->owner) owners.push_back(std::move(*read));
  }
  if (const auto copied = copy_records(context, picked); !copied) fail_all(copied.error());
}

// The records that were read so far.
class Picker {
  struct Wanted {
    std::uint64_t ordinal = 0;
    std::size_t place = 0;  // in the result
    auto operator<=>(const Wanted&) const = default;
  };

 public:
  Picker(const RequestContext& context, DataSet& set, std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes)
      : context_(context), set_(set), most_bytes_(most_bytes), wanted_(ordinals.size()) {
    sorted_.reserve(ordinals.size());
    for (const std::uint64_t ordinal : ordinals) sorted_.push_back({ordinal, sorted_.size()});
    std::ranges::sort(sorted_);
  }

  Result<PickedRecords> run(Executor& executor) {
    executor.run_in_order({.tasks = 2 * std::size_t{executor.threads() + 1}, .bytes = most_bytes_},
                          [&] { return next_task(); });
    if (!outcome_) return std::move(outcome_).error();
    PickedRecords result;
    result.records.resize(wanted_);
    result.copy_of.resize(wanted_);
    for (const auto& picked : picked_) {
      for (const PickedChunk::Record& record : picked->records) {
        result.records[record.place] = record.bytes;
        result.copy_of[record.place] = static_cast<std::uint32_t>(result.copies.size());
      }
      const PlacedRecord& first = picked->first;
      for (PickedChunk::Failure& failure : picked->failures) {
        const PickedChunk::Record& record = picked->records[failure.record];
        const ChunkInfo& chunk = first.indexed.chunk;
        Position& begin = failure.why.position;
        if (begin < chunk.begin || begin >= chunk.end) begin = chunk.begin;
        const Position end = end_of(failure.why, chunk);
        result.failures.emplace(record.place, PickedRecords::Failure{std::move(failure.why), first.shard, end,
                                                                     first.indexed.before.records + record.index});
      }
      result.copies.push_back(std::move(picked->copy));
    }
    return result;
  }

 private:
  std::optional<Executor::OrderedTask> next_task() {
    while (at_ < sorted_.size() && sorted_[at_].place >= wanted_) ++at_;
    if (at_ == sorted_.size() || !outcome_) return std::nullopt;
    auto first = place_record(context_, set_, sorted_[at_].ordinal);
    if (!first) {
      outcome_ = std::move(first).error();
      return std::nullopt;
    }
    const auto picked = std::make_shared<PickedChunk>(PickedChunk{.first = std::move(*first)});
    const std::uint64_t begin = picked->first.base + picked->first.indexed.before.records;
    const std::uint64_t end = picked->first.base + picked->first.indexed.after().records;
    for (; at_ < sorted_.size() && sorted_[at_].ordinal < end; ++at_) {
      if (sorted_[at_].place < wanted_) picked->records.push_back({sorted_[at_].place, sorted_[at_].ordinal - begin});
    }
    return Executor::OrderedTask{.run = [this, picked] { read_records(context_, *picked); },
                                 .finish = [this, picked](bool has_run) { return take(picked, has_run); },
                                 .bytes = picked->first.indexed.chunk.stored_size};
  }

  // If there are too many bytes, drops the second half of the records, again and again.
  bool take(const std::shared_ptr<PickedChunk>& picked, bool has_run) {
    if (!has_run) outcome_ = shortage("no memory");
    if (!has_run) return false;
    picked_.push_back(picked);
    drop_unwanted(*picked);
    bytes_ += bytes_of(*picked);
    while (bytes_ > most_bytes_ && wanted_ > 1) {
      wanted_ /= 2;
      bytes_ = 0;
      for (const auto& one : picked_) {
        drop_unwanted(*one);
        bytes_ += bytes_of(*one);
      }
      std::erase_if(picked_, [](const auto& one) { return one->records.empty(); });
    }
    return outcome_.has_value();
  }

  // Drops the records at places that are no longer wanted, and their memory.
  void drop_unwanted(PickedChunk& picked) {
    const auto is_unwanted = [&](const PickedChunk::Record& record) { return record.place >= wanted_; };
    if (std::ranges::none_of(picked.records, is_unwanted)) return;
    std::vector<PickedChunk::Record> records;
    std::vector<PickedChunk::Failure> failures;
    auto failure = picked.failures.begin();
    for (std::size_t i = 0; i < picked.records.size(); ++i) {
      const bool has_failed = failure != picked.failures.end() && failure->record == i;
      if (!is_unwanted(picked.records[i])) {
        if (has_failed) failures.push_back({records.size(), std::move(failure->why)});
        records.push_back(picked.records[i]);
      }
      if (has_failed) ++failure;
    }
    picked.records = std::move(records);
    picked.failures = std::move(failures);
    if (auto copied = copy_records(context_, picked); !copied) outcome_ = std::move(copied);
  }

  const RequestContext& context_;
  DataSet& set_;
  const std::uint64_t most_bytes_;
  std::size_t wanted_;          // the first so many are returned
  std::vector<Wanted> sorted_;  // by ordinal
  std::size_t at_ = 0;          // of the next task, in sorted_
  std::vector<std::shared_ptr<PickedChunk>> picked_;
  std::uint64_t bytes_ = 0;  // of picked_
  Result<void> outcome_;
};

}  // namespace

Result<PlacedRecord> place_record(const RequestContext& context, DataSet& set, std::uint64_t ordinal) {
  auto placed = find_record(context, set, ordinal);
  if (placed || placed.error().code != Code::kNotFound) return placed;
  return Error{.code = Code::kNotFound, .detail = "no record " + std::to_string(ordinal)};
}

Result<PickedRecords> pick_records(const RequestContext& context, DataSet& set, Executor& executor,
                                   std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes) {
  return Picker(context, set, ordinals, most_bytes).run(executor);
}

}  // namespace recordfs
