#include "fusefs/commands/damage_reporter.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fusefs/messages.h"

namespace recordfs {

void DamageReporter::add(const DamagedRegion& region) {
  context_.note(region);
  regions_.add(region);
}

bool DamageReporter::scan(ScanOptions options, const std::function<bool(const DamageRow&)>& takes,
                          const WorkOnChunk& work, const WorkOnBatch& work_on_batch) {
  options.threads = context_.threads();
  const auto work_on_step = [&](const RequestContext& context, const ScannedStep& step) -> Finish {
    std::vector<DamagedRegion> damage;
    for (const DamageRow& row : step.damage) {
      if (takes(row)) damage.push_back(row.region);
    }
    return [this, damage = std::move(damage), finish = step.indexed ? work(context, *step.indexed) : Finish()] {
      for (const DamagedRegion& region : damage) add(region);
      return !finish || finish();
    };
  };
  const auto scanned = recordfs::scan(store_, options, work_on_step, work_on_batch);
  regions_.finish();
  if (scanned) scanned_records_ = scanned->records;
  if (!scanned) context_.print_failure(path_, scanned.error());
  return scanned.has_value();
}

bool DamageReporter::scan(const Selection& selection, const WorkOnChunk& work, const WorkOnBatch& work_on_batch,
                          std::uint64_t bytes_per_record, bool decodes) {
  if (selection.is_empty()) return true;
  ScanOptions options;
  options.from = selection.from;
  options.end_record = selection.records.end;
  options.bytes_per_record = bytes_per_record;
  options.decodes = decodes;
  return scan(
      options, [&](const DamageRow& row) { return selection.lies_inside(row.first_ordinal); }, work, work_on_batch);
}

void DamageReporter::report(const DamagedRegion& region) {
  context_.list_skipped(path_, region);
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
