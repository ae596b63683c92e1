// Construction of RecordStore, and what it takes over from the store of the shorter file.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/store/complete_prefix.h"
#include "core/store/record_store.h"

namespace recordfs {
namespace {

constexpr int kMostIndexBits = 24;
// A followed file may grow by this factor before its addresses change.
constexpr std::uint64_t kRoomToGrow = 16;

std::uint64_t size_to_come(std::uint64_t size, unsigned address_bits) {
  const std::uint64_t least = (std::uint64_t{1} << (address_bits - kMostIndexBits)) - 1;
  return std::max(least, size > UINT64_MAX / kRoomToGrow ? size : size * kRoomToGrow);
}

}  // namespace

int RecordStore::index_bits(const FollowOptions& follow) const {
  if (container_->traits().index_fits_in_chunk) return 0;
  if (follow.shorter != nullptr && !follow.shorter->traits().index_fits_in_chunk) {
    return follow.shorter->index_bits_;
  }
  const std::uint64_t size = source_->size();
  const std::uint64_t most = is_followed_ ? size_to_come(size, services_.address_bits) : size;
  return std::clamp(static_cast<int>(services_.address_bits) - static_cast<int>(std::bit_width(most)), 0,
                    kMostIndexBits);
}

RecordStore::RecordStore(std::string name, std::shared_ptr<const Source> source,
                         std::unique_ptr<const Container> container, Services& services, Catalog::Bounds bounds,
                         FollowOptions follow)
    : is_followed_(follow.is_followed),
      name_(std::move(name)),
      source_(std::move(source)),
      container_(is_followed_ ? complete_prefix(std::move(container), source_->size()) : std::move(container)),
      services_(services),
      budgets_(services.budgets_of(source_->filesystem())),
      bounds_(bounds),
      index_bits_(index_bits(follow)),
      reported_(follow.shorter != nullptr ? follow.shorter->reported() : std::set<Reported>{}),
      read_ahead_(new_read_ahead()),
      catalog_(
          *container_, *source_, ScanDetail::kCounts, bounds, [this](const DamageRow& row) { report(row.region); },
          follow.shorter != nullptr ? nullptr : saved(ScanDetail::kCounts), layouts_in_turn(),
          follow.shorter != nullptr ? Catalog::OnScanned{} : scan_logger("headers"),
          follow.shorter != nullptr ? follow.shorter->catalog_.snapshot() : std::nullopt, services.reads_whole_files),
      keys_(schema().key_changes ? std::make_unique<KeyIndex>(*this, services.keys, services.log) : nullptr) {
  if (follow.shorter == nullptr) return;
  knows_counts_ = follow.shorter->state().complete;
  if (auto sizes = follow.shorter->found_sizes()) {
    sizes_ = new_sizes(std::move(sizes));
    knows_sizes_ = true;
  }
}

std::set<RecordStore::Reported> RecordStore::reported() const {
  const std::lock_guard lock(mutex_);
  return reported_;
}

std::unique_ptr<Catalog> RecordStore::new_sizes(std::optional<CatalogSnapshot> shorter) const {
  auto index = shorter ? nullptr : saved(ScanDetail::kSizes);
  return std::make_unique<Catalog>(
      *container_, *source_, ScanDetail::kSizes, bounds_, Catalog::OnDamage{}, std::move(index), layouts_in_turn(),
      shorter ? Catalog::OnScanned{} : scan_logger("sizes"), std::move(shorter), services_.reads_whole_files);
}

Catalog* RecordStore::sizes_if_made() const {
  const std::lock_guard lock(mutex_);
  return sizes_.get();
}

std::optional<CatalogSnapshot> RecordStore::found_sizes() const {
  const Catalog* made = sizes_if_made();
  return made != nullptr ? made->snapshot() : std::nullopt;
}

bool RecordStore::is_scanning() const {
  const Catalog* made = sizes_if_made();
  return catalog_.state().is_scanning || (made != nullptr && made->state().is_scanning);
}

Result<void> RecordStore::catch_up() const {
  if (knows_counts_) {
    TRY(record_totals());
  }
  if (knows_sizes_) {
    TRY(sizes_if_made()->totals());
  }
  return {};
}

}  // namespace recordfs
