#include "core/formats/field_projection.h"

namespace recordfs {

void FieldProjection::add(std::span<const std::uint32_t> path) {
  Place place = kRecord;
  for (const std::uint32_t number : path) {
    const auto next = static_cast<Place>(places_.size());
    const auto [found, is_new] = fields_.try_emplace(Key{place, number}, next);
    if (is_new) places_.push_back(next);
    place = found->second;
  }
  places_[place] = kWhole;
}

auto FieldProjection::field(Place parent, std::uint32_t number) const -> Place {
  if (parent == kExcluded) return kExcluded;
  if (parent == kWhole || places_[parent] == kWhole) return kWhole;
  const auto found = fields_.find(Key{parent, number});
  return found == fields_.end() ? kExcluded : places_[found->second];
}

}  // namespace recordfs
