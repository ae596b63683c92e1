#include "core/store/record_store.h"

#include <optional>
#include <utility>

namespace recordfs {

RecordStore::RecordStore(std::string name, std::shared_ptr<const Source> source,
                         std::unique_ptr<const Container> container, StoreResources& services, Catalog::Bounds bounds,
                         FollowOptions follow)
    : file_(std::move(name), std::move(source), std::move(container), services, follow.is_followed),
      log_(file_, follow.shorter != nullptr ? &follow.shorter->log_ : nullptr),
      index_(file_, log_, bounds, follow.shorter != nullptr ? &follow.shorter->index_ : nullptr),
      chunks_(file_, index_, log_),
      records_(file_, index_, chunks_, log_, follow.shorter != nullptr ? &follow.shorter->records_ : nullptr),
      streams_(file_, index_, chunks_, records_, log_) {}

Result<std::shared_ptr<const std::vector<Attribute>>> RecordStore::attributes(const RequestContext& context) const {
  {
    const std::lock_guard lock(mutex_);
    if (attributes_) return attributes_;
  }
  const Metadata* const metadata = this->metadata();
  std::optional<IndexedChunk> last;
  if (metadata != nullptr && metadata->varies()) {
    ASSIGN_OR_RETURN(const auto known, index_.totals(ScanDetail::kCounts));
    if (known.chunks > 0) {
      ASSIGN_OR_RETURN(const auto indexed, index_.find(context, SearchKey::kChunks, known.chunks - 1));
      last = indexed;
    }
  }
  auto values =
      metadata == nullptr ? std::vector<Attribute>{} : metadata->attributes(context, last ? &last->chunk : nullptr);
  ASSIGN_OR_RETURN(auto known, log_.reported(context, std::move(values)));
  const std::lock_guard lock(mutex_);
  if (!attributes_) attributes_ = std::make_shared<const std::vector<Attribute>>(std::move(known));
  return attributes_;
}

}  // namespace recordfs
