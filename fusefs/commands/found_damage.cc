#include "fusefs/commands/found_damage.h"

#include <fmt/format.h>

#include "fusefs/say.h"

namespace recordfs {

void FoundDamage::add(const DamagedRegion& region) {
  workspace_.note(region);
  const bool goes_on = last_ && last_->end == region.begin && last_->damage_class == region.damage_class &&
                       last_->reason == region.reason && region.records_before == 0;
  if (!goes_on) {
    finish();
    last_ = region;
    return;
  }
  last_->end = region.end;
  if (last_->records_lost && region.records_lost) {
    *last_->records_lost += *region.records_lost;
  } else {
    last_->records_lost.reset();
  }
}

void FoundDamage::finish() {
  if (!last_) return;
  const DamagedRegion region = *std::exchange(last_, std::nullopt);
  switch (region.damage_class) {
    case DamageClass::kDamage:
    case DamageClass::kUnsupported: return store_.report(region);
    // To a log that is being written this is no news; here it is why the status is not 0.
    case DamageClass::kUnfinished:
      if (said_.insert(region.begin).second) say(fmt::format("{}: {}", path_, damage_line(region)));
      return;
    case DamageClass::kStale: return;
  }
}

}  // namespace recordfs
