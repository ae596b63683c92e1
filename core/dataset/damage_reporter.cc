#include "core/dataset/damage_reporter.h"

namespace recordfs {

void DamageReporter::add(const DamagedRegion& region) {
  reporter_.note(region);
  regions_.add(region);
}

std::optional<std::uint64_t> DamageReporter::read(const PassPart& part, const ScanOptions& options,
                                                  const WorkOnChunk& work, const ProcessBatch& work_on_batch) {
  const bool damage_precedes_chunks = part.split && !store_.traits().is_in_file_order;
  const auto work_on_step = [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
    return [this, damage_precedes_chunks, damage = step.damage,
            finish = step.indexed ? work(context, *step.indexed) : OrderedResult()] {
      for (const DamageRow& row : damage) add(row.region);
      if (damage_precedes_chunks && finish) regions_.finish();
      return !finish || finish();
    };
  };
  const auto end = read_part(part, options, work_on_step, work_on_batch);
  regions_.finish();
  if (!end) reporter_.report_failure(path_, end.error());
  return !end || end->was_stopped ? std::nullopt : std::optional(end->records);
}

void DamageReporter::report(const DamagedRegion& region) {
  const bool is_unfinished = region.damage_class == DamageClass::kUnfinished;
  const bool is_known = is_unfinished && !unfinished_.insert(region.begin).second;
  reporter_.report_region(path_, store_, region, is_known);
}

}  // namespace recordfs
