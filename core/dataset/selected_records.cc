#include "core/dataset/selected_records.h"

#include <utility>

#include "core/dataset/damage_reporter.h"
#include "core/dataset/set_reader.h"
#include "core/search/wanted_fields.h"

namespace recordfs {
namespace {

void append_run(RecordRuns& runs, std::uint64_t index) {
  if (!runs.empty() && runs.back().end == index) {
    ++runs.back().end;
  } else {
    runs.push_back({.begin = index, .end = index + 1});
  }
}

}  // namespace

SelectRecord selector(const RecordCondition& condition, const RecordDecoder& decoder, const SetMember& member) {
  return [&condition, &decoder, &member](const ChunkInfo& chunk, Bytes record) {
    return condition.matches({}, decoder, chunk, record, {.path = member.path, .path_in_set = member.path_in_set()});
  };
}

SelectedRecords select_records(const RecordCondition& condition, const RecordDecoder& decoder, const SetMember& member,
                               const ChunkInfo& info, const Chunk& chunk, OrdinalInterval which, bool ends_at_failure) {
  Search search{.selects = selector(condition, decoder, member)};
  search.indices = which;
  search.largest_record = member.store->limits().decoded_chunk;
  search.ends_at_failure = ends_at_failure;
  auto found = search_chunk({}, *member.store, info, chunk, search);
  SelectedRecords selected;
  for (const FoundRecord& record : found.records) append_run(selected.runs, record.index);
  selected.failures = found.take_errors();
  return selected;
}

std::optional<std::uint64_t> SelectedFinder::each(const SetMember& member, const Selection& selection,
                                                  const TakeRun& take) const {
  const RecordStore& store = *member.store;
  const RecordDecoder decoder(store.schema(), store.metadata(), types);
  const auto wanted = wanted_fields({}, store, types, condition->condition().names());
  DamageReporter damage(member.path, store, reporter);
  const auto select = [&](const RequestContext& working, const IndexedChunk& indexed) -> OrderedResult {
    const OrdinalInterval which = selection.within(indexed);
    if (which.is_empty()) return {};
    SelectedRecords selected;
    const auto chunk = store.chunks().decode_ahead(working, indexed.chunk, wanted ? &*wanted : nullptr);
    if (chunk) {
      selected = select_records(*condition, decoder, member, indexed.chunk, **chunk, which, !skips_damage);
    } else {
      selected.failures.push_back(chunk.error());
    }
    const std::uint64_t first = member.first_ordinal + indexed.before.records;
    return [this, &member, &take, first, selected = std::move(selected)] {
      for (const OrdinalInterval& run : selected.runs) take({.begin = first + run.begin, .end = first + run.end});
      for (const Error& failure : selected.failures) reporter.report(*member.store, failure);
      return selected.failures.empty() || skips_damage;
    };
  };
  return damage.read({.store = store, .selection = selection}, {.threads = reporter.threads()}, select);
}

bool SelectedFinder::each(SetReader& reader, const TakeRun& take) const {
  return reader.each(OrdinalRange{}, [&](const SetMember& member, const Selection& selection) {
    return each(member, selection, take);
  });
}

void LastSelected::add(OrdinalInterval ordinals) {
  runs_.push_back(ordinals);
  records_ += ordinals.end - ordinals.begin;
  for (std::uint64_t size = 0; records_ - (size = runs_.front().end - runs_.front().begin) >= most_;) {
    records_ -= size;
    runs_.pop_front();
  }
}

std::optional<std::uint64_t> LastSelected::first() const {
  if (records_ < most_ || runs_.empty()) return std::nullopt;
  return runs_.front().begin + (records_ - most_);
}

}  // namespace recordfs
