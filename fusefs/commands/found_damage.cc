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
    case DamageClass::kUnsupported: return store_.log().report(region);
    // Printed here, because the log leaves unfinished ends out, but they set the exit status.
    case DamageClass::kUnfinished:
      if (said_.insert(region.begin).second) print_message(fmt::format("{}: {}", path_, damage_line(region)));
      return;
    case DamageClass::kStale: return;
  }
}

}  // namespace recordfs
