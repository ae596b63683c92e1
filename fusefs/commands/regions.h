// Joins pieces of damaged regions that several steps of a scan report.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "core/store/scan_results.h"

namespace recordfs {

// Passes each whole region to `take` once, when its end is known. REQUIRES: regions in the order of the scan. Not
// thread-safe.
class Regions {
 public:
  explicit Regions(std::function<void(const DamagedRegion& region)> take) : take_(std::move(take)) {}

  void add(const DamagedRegion& region);
  // Passes on the last region.
  void finish();

 private:
  const std::function<void(const DamagedRegion& region)> take_;
  std::optional<DamagedRegion> last_;
};

}  // namespace recordfs
