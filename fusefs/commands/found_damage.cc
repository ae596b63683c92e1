#include "fusefs/commands/found_damage.h"

#include <fmt/format.h>

#include "fusefs/messages.h"

namespace recordfs {

void FoundDamage::add(const DamagedRegion& region) {
  context_.note(region);
  regions_.add(region);
}

void FoundDamage::report(const DamagedRegion& region) {
  switch (region.damage_class) {
    case DamageClass::kDamage:
    case DamageClass::kUnsupported: return store_.report(region);
    // To a log that is being written this is no news; here it is why the status is not 0.
    case DamageClass::kUnfinished:
      if (said_.insert(region.begin).second) print_message(fmt::format("{}: {}", path_, damage_line(region)));
      return;
    case DamageClass::kStale: return;
  }
}

}  // namespace recordfs
