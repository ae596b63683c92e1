#include "fusefs/commands/regions.h"

namespace recordfs {

void Regions::add(const DamagedRegion& region) {
  if (last_ && join_regions(*last_, region, region.records_before > 0)) return;
  finish();
  last_ = region;
}

void Regions::finish() {
  if (const auto region = std::exchange(last_, std::nullopt)) take_(*region);
}

}  // namespace recordfs
