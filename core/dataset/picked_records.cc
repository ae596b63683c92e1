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

Error named(Error why, std::uint64_t ordinal) {
  return why.code == Code::kNotFound ? Error{.code = Code::kNotFound, .detail = "no record " + std::to_string(ordinal)}
                                     : std::move(why);
}

// Some records of one chunk, copied into one buffer, so that small ones need no memory of their own.
struct ChunkPick {
  struct Record {
    std::size_t place = 0;    // in the result
    std::uint64_t index = 0;  // in the chunk
    Bytes bytes{};
  };

  PlacedRecord first;
  std::vector<Record> records{};
  std::map<std::size_t, PickedRecords::Failure> failures{};  // by place
  Slice copy{};

  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const Record& record : records) bytes += record.bytes.size();
    return bytes;
  }

  void read(const RequestContext& context, const PickUse& use) {
    const auto fields = use.fields_of ? use.fields_of(first) : nullptr;
    const ChunkReader& chunks = first.store->chunks();
    const auto chunk = fields ? chunks.decode_ahead(context, first.indexed.chunk, fields.get())
                              : chunks.get_quietly(context, first.indexed.chunk);
    std::vector<Slice> owners;  // until the records are copied
    for (Record& record : records) {
      auto made = chunk ? use.render(context, first, **chunk, record.index) : RenderedRecord{.failure = chunk.error()};
      if (made.failure) fail(record, std::move(*made.failure), made.is_last);
      record.bytes = made.bytes.bytes;
      if (owners.empty() || owners.back().owner != made.bytes.owner) owners.push_back(std::move(made.bytes));
    }
    if (const auto copied = copy_records(context); !copied) {
      for (Record& record : records) {
        record.bytes = {};
        fail(record, copied.error(), false);
      }
    }
    first.store.reset();  // many shards may have records, and few files can be open
  }

  // Drops the records from `place` on, and their memory.
  Result<void> drop_from(std::size_t place, const RequestContext& context) {
    failures.erase(failures.lower_bound(place), failures.end());
    const auto dropped = std::erase_if(records, [&](const Record& record) { return record.place >= place; });
    return dropped == 0 ? Result<void>() : copy_records(context);
  }

 private:
  void fail(const Record& record, Error why, bool is_last) {
    PlacedRecord place = first;
    place.index = record.index;
    failures.insert_or_assign(record.place, PickedRecords::Failure{std::move(why), std::move(place), is_last});
  }

  // Copies the records into a buffer of their own, in place of what they point into.
  Result<void> copy_records(const RequestContext& context) {
    ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, static_cast<std::size_t>(bytes())));
    std::size_t at = 0;
    for (Record& record : records) {
      copy_bytes(record.bytes, buffer.span().subspan(at));
      record.bytes = buffer.view().subspan(at, record.bytes.size());
      at += record.bytes.size();
    }
    copy = owned(std::move(buffer));
    return {};
  }
};

// The records that were read so far.
class Picker {
  struct Wanted {
    std::uint64_t ordinal = 0;
    std::size_t place = 0;  // in the result
    auto operator<=>(const Wanted&) const = default;
  };

 public:
  Picker(const RequestContext& context, DataSet& set, std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes,
         const PickUse& use)
      : context_(context), set_(set), most_bytes_(most_bytes), use_(use), wanted_(ordinals.size()) {
    sorted_.reserve(ordinals.size());
    for (const std::uint64_t ordinal : ordinals) sorted_.push_back({ordinal, sorted_.size()});
    std::ranges::sort(sorted_);
  }

  PickedRecords run(Executor& executor) {
    executor.run_in_order({.tasks = 2 * std::size_t{executor.threads() + 1}, .bytes = most_bytes_},
                          [&] { return next_task(); });
    return result();
  }

 private:
  std::optional<Executor::OrderedTask> next_task() {
    while (at_ < sorted_.size() && sorted_[at_].place >= wanted_) ++at_;
    if (at_ == sorted_.size() || stop_) return std::nullopt;
    auto first = place_record(context_, set_, sorted_[at_].ordinal);
    if (!first) {
      stop_ = {std::move(first).error(), sorted_[at_].ordinal};
      return std::nullopt;
    }
    const auto picked = std::make_shared<ChunkPick>(ChunkPick{.first = std::move(*first)});
    const std::uint64_t begin = picked->first.base + picked->first.indexed.before.records;
    const std::uint64_t end = picked->first.base + picked->first.indexed.after().records;
    for (; at_ < sorted_.size() && sorted_[at_].ordinal < end; ++at_) {
      if (sorted_[at_].place < wanted_) picked->records.push_back({sorted_[at_].place, sorted_[at_].ordinal - begin});
    }
    return Executor::OrderedTask{.run = [this, picked] { picked->read(context_, use_); },
                                 .finish = [this, picked](bool has_run) { return take(picked, has_run); },
                                 .bytes = picked->first.indexed.chunk.stored_size};
  }

  // If there are too many bytes, drops the second half of the records, again and again.
  bool take(const std::shared_ptr<ChunkPick>& picked, bool has_run) {
    const std::uint64_t ordinal = picked->first.base + picked->first.indexed.before.records;
    if (!has_run) stop_ = {out_of_memory("out of memory"), ordinal};
    if (!has_run) return false;
    picked_.push_back(picked);
    auto dropped = picked->drop_from(wanted_, context_);
    bytes_ += picked->bytes();
    while (dropped && bytes_ > most_bytes_ && wanted_ > 1) {
      wanted_ /= 2;
      bytes_ = 0;
      for (const auto& one : picked_) {
        if (dropped) dropped = one->drop_from(wanted_, context_);
        bytes_ += one->bytes();
      }
      std::erase_if(picked_, [](const auto& one) { return one->records.empty(); });
    }
    if (!dropped) stop_ = {dropped.error(), ordinal};
    return dropped.has_value();
  }

  PickedRecords result() {
    PickedRecords result;
    result.records.resize(wanted_);
    result.copy_of.resize(wanted_, kUnread);
    for (const auto& picked : picked_) {
      for (const ChunkPick::Record& record : picked->records) {
        if (record.place >= wanted_) continue;
        result.records[record.place] = record.bytes;
        result.copy_of[record.place] = static_cast<std::uint32_t>(result.copies.size());
      }
      result.failures.merge(picked->failures);
      result.copies.push_back(std::move(picked->copy));
    }
    result.stop = std::move(stop_);
    const auto read = static_cast<std::size_t>(std::ranges::find(result.copy_of, kUnread) - result.copy_of.begin());
    result.records.resize(read);
    result.copy_of.resize(read);
    result.failures.erase(result.failures.lower_bound(read), result.failures.end());
    return result;
  }

  static constexpr std::uint32_t kUnread = UINT32_MAX;

  const RequestContext& context_;
  DataSet& set_;
  const std::uint64_t most_bytes_;
  const PickUse& use_;
  std::size_t wanted_;          // the first so many are returned
  std::vector<Wanted> sorted_;  // by ordinal
  std::size_t at_ = 0;          // of the next task, in sorted_
  std::vector<std::shared_ptr<ChunkPick>> picked_;
  std::uint64_t bytes_ = 0;  // of picked_
  std::optional<PickedRecords::Stop> stop_;
};

}  // namespace

Result<PlacedRecord> place_record(const RequestContext& context, DataSet& set, std::uint64_t ordinal) {
  RecordInShard place{.shard = 0, .ordinal = ordinal};
  // A single shard needs no counts.
  if (set.size() > 1) {
    auto located = wait_for(context, [&] { return set.locate(ordinal); });
    if (!located) return named(std::move(located).error(), ordinal);
    place = *located;
  }
  auto store = set.open(context, place.shard);
  if (!store) return named(std::move(store).error(), ordinal);
  auto indexed = wait_for(context, [&] { return (*store)->index().find(context, SearchKey::kRecords, place.ordinal); });
  if (!indexed) return named(std::move(indexed).error(), ordinal);
  const std::uint64_t index = place.ordinal - indexed->before.records;
  return PlacedRecord{place.shard, *std::move(store), *std::move(indexed), ordinal - place.ordinal, index};
}

RenderedRecord read_record(const RequestContext& context, const PlacedRecord& place, const Chunk& chunk,
                           std::uint64_t index) {
  auto read = place.store->records().read(context, chunk, index, 0, UINT64_MAX);
  if (!read) return {.failure = std::move(read).error()};
  return {.bytes = std::move(*read)};
}

PickedRecords pick_records(const RequestContext& context, DataSet& set, Executor& executor,
                           std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes, const PickUse& use) {
  return Picker(context, set, ordinals, most_bytes, use).run(executor);
}

}  // namespace recordfs
