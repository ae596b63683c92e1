#include "core/export/record_files_copier.h"

#include <fmt/format.h>

#include "core/dataset/damage_reporter.h"
#include "core/dataset/selected_records.h"

namespace recordfs {

void RecordFilesCopier::NotCopied::add(std::uint64_t ordinal, const std::string& reason) {
  if (records++ > 0) return;
  first = ordinal;
  why = reason;
}

RecordFilesCopier::RecordFilesCopier(Descriptor directory, const Options& options, Reporter& reporter, Caller caller)
    : options_(options),
      reporter_(reporter),
      caller_(std::move(caller)),
      files_(std::move(directory), options.files),
      without_part_(options.files.parts.size()) {}

std::optional<std::uint64_t> RecordFilesCopier::copy(const SetMember& member, const Selection& selection) {
  const RecordStore& store = *member.store;
  if (!options_.files.parts.empty() && store.schema().parts == RecordSchema::Parts::kNone) {
    const std::string why = fmt::format("the records of {} have no parts", store.traits().format);
    reporter_.report_failure(member.path, {.code = Code::kNotFound, .detail = why});
    return std::nullopt;
  }
  DamageReporter damage(member.path, store, reporter_);
  const RecordDecoder decoder(store.schema(), store.metadata(), options_.types);
  return damage.read({.store = store, .selection = selection}, {.threads = reporter_.threads()},
                     [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
                       // cppcheck-suppress returnDanglingLifetime
                       return [&, failed = copy_chunk(context, member, decoder, selection, indexed)] {
                         return settle(store, failed);
                       };
                     });
}

// Thread-safe.
RecordFilesCopier::Failures RecordFilesCopier::copy_chunk(const RequestContext& context, const SetMember& member,
                                                          const RecordDecoder& decoder, const Selection& selection,
                                                          const IndexedChunk& indexed) {
  const RecordStore& store = *member.store;
  const std::uint64_t first_ordinal = member.first_ordinal + indexed.before.records;
  Failures failed;
  const OrdinalInterval wanted = selection.within(indexed);
  if (wanted.is_empty()) return failed;
  const auto chunk = store.chunks().decode_ahead(context, indexed.chunk);
  if (!chunk) {
    failed.push_back({first_ordinal, {.is_of_record = true, .why = chunk.error()}});
    return failed;
  }
  SelectedRecords selected{.runs = {wanted}};
  if (options_.condition) {
    selected = select_records(*options_.condition, decoder, member, indexed.chunk, **chunk, wanted, false);
  }
  for (Error& why : selected.failures) {
    failed.push_back({first_ordinal, {.is_of_record = true, .why = std::move(why)}});
  }
  RecordFiles::Record record{
      .store = store, .decoder = decoder, .info = indexed.chunk, .chunk = **chunk, .path_in_set = member.path_in_set()};
  for (const OrdinalInterval& run : selected.runs) copy_run(record, run, first_ordinal, failed);
  return failed;
}

// Copies records of a chunk. `first_ordinal` is that of the chunk. Thread-safe.
void RecordFilesCopier::copy_run(RecordFiles::Record& record, OrdinalInterval run, std::uint64_t first_ordinal,
                                 Failures& failed) {
  for (std::uint64_t i = run.begin; i < run.end && !has_failed_ && reporter_.goes_on(); ++i) {
    record.index = i;
    record.ordinal = first_ordinal + i;
    auto failures = files_.write(record);
    if (failures.empty()) caller_.has_copied(1);
    for (RecordFiles::Failure& failure : failures) {
      has_failed_ = has_failed_ || failure.ends_copy();
      failed.emplace_back(record.ordinal, std::move(failure));
    }
  }
}

// Counts or reports failures. Returns false if copying has to stop. Chunks skipped after that have no failure.
bool RecordFilesCopier::settle(const RecordStore& store, const Failures& failures) {
  const bool names_can_be_equal = options_.files.pattern != nullptr && !options_.files.pattern->has_ordinal();
  for (const auto& [ordinal, failure] : failures) {
    if (failure.has_no_part) {
      ++without_part_[failure.part];
    } else if (failure.has_no_name) {
      without_name_.add(ordinal, failure.why.detail);
    } else if (failure.is_there && names_can_be_equal) {
      of_taken_name_.add(ordinal, failure.name);
    } else if (failure.is_of_record) {
      reporter_.report(store, failure.why);
    } else {
      caller_.report(failure);
      if (failure.ends_copy()) return false;
    }
  }
  return reporter_.goes_on();
}

}  // namespace recordfs
