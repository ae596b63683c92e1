#include "core/formats/proio/descriptor_sets.h"

#include <algorithm>
#include <cstdint>

namespace recordfs::proio {
namespace {

constexpr std::size_t kMostKeptSets = 8;

}  // namespace

// REQUIRES: mutex_ is held.
std::shared_ptr<const std::string> DescriptorSets::find(const Fold& fold) const {
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& kept) { return kept.fold->shares_descriptors_with(fold); });
  if (found == kept_.end()) return nullptr;
  std::rotate(found, found + 1, kept_.end());
  return kept_.back().set;
}

std::shared_ptr<const std::string> DescriptorSets::of(const std::shared_ptr<const Fold>& fold) const {
  if (!fold->has_descriptors()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (auto known = find(*fold)) return known;
  auto set = std::make_shared<const std::string>(fold->file_descriptor_set(limits_));
  kept_.push_back({fold, set});
  std::uint64_t size = 0;
  for (const Kept& each : kept_) size += each.fold->size() + each.set->size();
  while (kept_.size() > 1 && (kept_.size() > kMostKeptSets || size > limits_.metadata_bytes)) {
    size -= kept_.front().fold->size() + kept_.front().set->size();
    kept_.erase(kept_.begin());
  }
  return set;
}

}  // namespace recordfs::proio
