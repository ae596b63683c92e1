#include "fusefs/commands/where.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/search/wanted_fields.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/damage_reporter.h"
#include "fusefs/commands/record_text.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/exit_status.h"

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

void declare_where(CLI::App& app, ConditionPointer& condition) {
  declare_value(
      app, "--where", "CONDITION",
      [&condition](const std::string& text) {
        auto parsed = RecordCondition::parse(text);
        if (!parsed) throw CLI::ValidationError("--where", parsed.error().detail);
        condition = std::move(*parsed);
      },
      "only records whose fields meet a condition: 'label in (3, 5)'\n"
      "The manual explains conditions in a section of its own.");
}

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
  selected.failures = std::move(found.failures);
  return selected;
}

std::optional<std::uint64_t> SelectedFinder::each(const SetMember& member, const Selection& selection,
                                                  const TakeRun& take) const {
  const RecordStore& store = *member.store;
  const RecordDecoder decoder(store.schema(), store.metadata(), types);
  const auto wanted = wanted_fields({}, store, types, condition->condition().names());
  DamageReporter damage(member.path, store, context);
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
      for (const Error& failure : selected.failures) context.report(*member.store, failure);
      return selected.failures.empty() || skips_damage;
    };
  };
  return damage.read({.store = store, .selection = selection}, {.threads = context.threads()}, select);
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

void report_undecoded(std::string_view option, const UndecodedRecords::Summary& undecoded, std::string_view outcome,
                      CommandContext& context) {
  if (undecoded.records == 0 || !context.output().good()) return;
  context.fail(kExitPartlyDone, fmt::format("{}: {} cannot be decoded, {}; the first is in {}, in the chunk at {}: {}",
                                            option, counted(undecoded.records, "record"), outcome,
                                            printable(undecoded.path), undecoded.chunk, printable(undecoded.why)));
}

void report_condition(const RecordCondition* condition, bool is_complete, CommandContext& context) {
  if (condition == nullptr || !context.output().good()) return;
  report_undecoded("--where", condition->undecoded(), "so the condition does not apply", context);
  if (!is_complete) return;
  report_absent_names(condition->absent(), condition->present(), context);
  report_several(condition->several(), context);
  for (const std::string& term : condition->mismatched()) {
    context.fail(
        kExitPartlyDone,
        fmt::format("--where: {}: no value of this field has the type of what it is compared with", printable(term)));
  }
}

}  // namespace recordfs
