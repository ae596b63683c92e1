#include "fusefs/commands/damage_reporter.h"

#include <fmt/format.h>

#include "core/verify/verification.h"
#include "fusefs/messages.h"

namespace recordfs {

void DamageReporter::add(const DamagedRegion& region) {
  context_.note(region);
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
  if (!end) context_.print_failure(path_, end.error());
  return !end || end->was_stopped ? std::nullopt : std::optional(end->records);
}

void DamageReporter::report(const DamagedRegion& region) {
  if (region.damage_class != DamageClass::kStale) context_.add_loss(region.records_lost, region.least_lost);
  const bool is_listed = context_.skipped() != nullptr && region.damage_class != DamageClass::kStale;
  if (is_listed) context_.skipped()->write(skipped_line(path_, finding_of(region)));
  switch (region.damage_class) {
    case DamageClass::kDamage:
    case DamageClass::kUnsupported: return store_.log().report(region);
    // Printed here, because the log leaves unfinished ends out, but they set the exit status.
    case DamageClass::kUnfinished:
      if (unfinished_.insert(region.begin).second) print_message(fmt::format("{}: {}", path_, damage_line(region)));
      return;
    case DamageClass::kStale: return;
  }
}

}  // namespace recordfs
