#include "fusefs/tree/container_tree.h"

#include <algorithm>
#include <utility>

#include "fusefs/tree/views.h"

namespace recordfs {

ContainerTree::ContainerTree(std::shared_ptr<const RecordStore> store, CachedFiles& cache, std::uint64_t number)
    : store_(std::move(store)),
      cache_(cache),
      number_(number),
      decoder_(store_->schema(), store_->metadata(), cache.types) {
  for (const auto make : kViewFactories) views_.push_back(make(*this));
}

ContainerTree::~ContainerTree() = default;

std::uint64_t ContainerTree::values() const {
  std::uint64_t values = store().records().address_limit();
  for (const auto& view : views_) values = std::max(values, view == nullptr ? 0 : view->values());
  return values + kStaticEnd;
}

std::vector<Node> ContainerTree::changed_since(const RequestContext& context, const ContainerTree& shorter) const {
  std::vector<Node> nodes = {Node{}};
  for (const StaticEntry& entry : kStaticEntries) {
    if (entry.type.type != FileType::kLink) nodes.push_back({NodeKind::kStatic, entry.node});
  }
  for (const auto& view : views_) {
    if (view != nullptr) view->add_changed_since(context, shorter.store(), nodes);
  }
  return nodes;
}

}  // namespace recordfs
