// Regions of damage put together: what one step of a scan tells of may be a piece of a larger region.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "core/formats/container.h"

namespace recordfs {

// Takes the regions of a scan in its order, and hands out each whole one once, when it is known to its end. One thread.
class Regions {
 public:
  explicit Regions(std::function<void(const DamagedRegion& region)> take) : take_(std::move(take)) {}

  void add(const DamagedRegion& region);
  // Nothing follows: hands out the last one.
  void finish();

 private:
  const std::function<void(const DamagedRegion& region)> take_;
  std::optional<DamagedRegion> last_;
};

}  // namespace recordfs
