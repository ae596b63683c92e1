#include "fusefs/tree/container_tree.h"

#include <algorithm>

#include "fusefs/tree/views.h"

namespace recordfs {

ContainerTree::ContainerTree(const std::shared_ptr<const RecordStore>& store, CachedFiles& cache, std::uint64_t number)
    : context_{.store = store,
               .cache = cache,
               .number = number,
               .snapshot = next_snapshot_.fetch_add(1),
               .decoder = {store->schema(), store->metadata(), cache.types}} {
  for (const auto make : kViewFactories) context_.views.push_back(make(context_));
}

std::uint64_t ContainerTree::values() const {
  std::uint64_t values = store().records().address_limit();
  for (const auto& view : context_.views) values = std::max(values, view == nullptr ? 0 : view->values());
  return values + kStaticEnd;
}

std::vector<Node> ContainerTree::changed_since(const ContainerTree& shorter) const {
  std::vector<Node> nodes = {Node{}};
  for (const StaticEntry& entry : kStaticEntries) {
    if (entry.type.type != FileType::kLink) nodes.push_back({NodeKind::kStatic, entry.node});
  }
  for (const auto& view : context_.views) {
    if (view != nullptr) view->add_changed_since(shorter.store(), nodes);
  }
  return nodes;
}

Result<std::string> ContainerTree::extended_attribute(Node node, std::string_view name) const {
  const View* view = context_.view(node);
  if (view != nullptr && std::ranges::count(node_type(node)->extended, name) > 0) {
    return view->extended_attribute(node, name);
  }
  return Error{.code = Code::kNotFound, .detail = "no such attribute"};
}

Node ContainerTree::parent(Node directory) const {
  const View* view = context_.view(directory);
  return view == nullptr ? Node{} : view->parent(directory);
}

}  // namespace recordfs
