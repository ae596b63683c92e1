#include "fusefs/tree/container_node.h"

#include <algorithm>
#include <utility>

namespace recordfs {

FileStatus ContainerNode::status(std::uint64_t node_number, Node node, NodeAttributes attributes) const {
  FileStatus status{node_number, inode(node), attributes.type, attributes.size, ownership, attributes.cache_policy};
  if (!is_followed) return status;
  if (attributes.type == FileType::kLink || nodes->type(node)->is_permanent) {
    status.ownership.modified = first_modified;
  } else {
    status.cache_policy = CachePolicy::kSnapshot;
  }
  return status;
}

std::uint64_t MountedContainers::add(const MountedContainer& container, const std::string* directory) {
  auto added = std::make_shared<ContainerNode>();
  added->id = current_.size();
  added->ownership = container.ownership;
  added->is_followed = container.is_followed;
  added->first_modified = container.ownership.modified;
  added->set_tree(std::make_shared<const ContainerTree>(container.store, cache_, added->id));
  const auto wanted = directory == nullptr ? InodeTable::kWhole : InodeTable::wanted(*directory, added->tree->values());
  added->begin = added->inode_begin = inodes_.add(added->id, wanted).value();
  added->root_number = added->root_inode = number_in(added->begin, Node{});
  is_followed_.push_back(container.is_followed);
  return current_.emplace_back(std::move(added))->root_number;
}

std::shared_ptr<const ContainerNode> MountedContainers::at(std::size_t container) const {
  if (!is_followed_[container]) return {Pointer(), current_[container].get()};
  const std::lock_guard lock(mutex_);
  return current_[container];
}

std::vector<std::shared_ptr<const RecordStore>> MountedContainers::stores() const {
  std::vector<std::shared_ptr<const RecordStore>> stores;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto container = at(i);
    stores.emplace_back(container, &container->tree->store());
  }
  return stores;
}

bool MountedContainers::may_grow() const { return std::ranges::find(is_followed_, true) != is_followed_.end(); }

void MountedContainers::prepare(const RequestContext& context) const {
  for (std::size_t i = 0; i < size(); ++i) prepare(context, *at(i)->tree);
}

void MountedContainers::prepare(const RequestContext& context, const ContainerTree& tree) {
  if (tree.store().source().filesystem() == 0) return;
  // A failure is reported to the first reader.
  const Node kInfoFile{NodeKind::kStatic, kInfo};
  static_cast<void>(tree.view(kInfoFile)->attributes(context, kInfoFile).has_value());
}

std::vector<std::uint64_t> MountedContainers::grow(const RequestContext& context, std::size_t container,
                                                   const std::shared_ptr<const RecordStore>& store, timespec modified) {
  const Pointer before = at(container);
  auto next = std::make_shared<ContainerNode>(*before);
  next->ownership.modified = later(before->ownership.modified, modified);
  next->set_tree(std::make_shared<const ContainerTree>(store, cache_, before->id));
  prepare(context, *next->tree);
  std::vector<std::uint64_t> numbers;
  for (const Node& node : next->tree->changed_since(context, *before->tree)) numbers.push_back(next->number(node));
  replaced_.push_back(before);
  const std::lock_guard lock(mutex_);
  current_[container] = std::move(next);
  return numbers;
}

void MountedContainers::drop_unused() {
  std::erase_if(replaced_, [](const Pointer& snapshot) { return snapshot.use_count() == 1; });
}

}  // namespace recordfs
