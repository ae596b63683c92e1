#include "fusefs/commands/regions.h"

namespace recordfs {

void Regions::add(const DamagedRegion& region) {
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

void Regions::finish() {
  if (const auto region = std::exchange(last_, std::nullopt)) take_(*region);
}

}  // namespace recordfs
