#include "fusefs/tree/container_subtree.h"

#include <algorithm>
#include <utility>

namespace recordfs {

Result<ContainerSubtree::ResolvedNode> ContainerSubtree::find(const RequestContext& context,
                                                              std::uint64_t number) const {
  auto found = node_kind(number) == NodeKind::kMirrored ? InodeTable::ResolvedInode{number, {}} : inodes_.find(number);
  if (!found) return Error{.code = Code::kNotFound, .detail = "no such node"};
  std::shared_ptr<const ContainerNode> container;
  if (found->container < containers_.size()) {
    container = containers_.at(static_cast<std::size_t>(found->container));
  } else if (found->container == InodeTable::kOwnNodes) {
    container = own();
  } else {
    if (opener_ == nullptr) return no_such_name();
    ASSIGN_OR_RETURN(container, opener_->container(context, found->container));
  }
  context.set_filesystem(container->nodes->filesystem());
  const View* view = container->nodes->view(found->node);
  if (view == nullptr) return no_such_name();
  return ResolvedNode{std::move(container), std::move(found->node), view};
}

Result<Subtree::LookupResult> ContainerSubtree::lookup(const RequestContext& context, std::uint64_t directory,
                                                       std::string_view name) {
  ASSIGN_OR_RETURN(const auto found, find(context, directory));
  ASSIGN_OR_RETURN(const auto node, kept_open(found.container, found.view->lookup(context, found.node, name)));
  return LookupResult{look_up_and_reference(*found.container, node)};
}

std::uint64_t ContainerSubtree::look_up_and_reference(const ContainerNode& container, const Node& node) {
  if (container.is_mirrored) inodes_.reference_inside(container.id);
  return is_counted(node.kind) ? inodes_.look_up_and_reference(container.id, node) : container.number(node);
}

void ContainerSubtree::forget(std::uint64_t number, std::uint64_t lookups) {
  if (const auto unused = inodes_.forget(number, lookups)) opener_->drop(*unused);
}

Result<FileStatus> ContainerSubtree::status(const RequestContext& context, std::uint64_t number) {
  ASSIGN_OR_RETURN(const auto found, find(context, number));
  ASSIGN_OR_RETURN(const auto attributes, kept_open(found.container, found.view->attributes(context, found.node)));
  return found.container->status(number, found.node, attributes);
}

Result<void> ContainerSubtree::list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                                    const EmitEntry& emit) {
  ASSIGN_OR_RETURN(const auto found, find(context, directory));
  const auto numbered = [&](const DirectoryEntry& entry) {
    const ContainerNode& of = entry.container == nullptr ? *found.container : *entry.container;
    const std::uint64_t inode = entry.inode != 0 ? entry.inode : of.inode(entry.node);
    return emit({entry.name, inode, entry.type, entry.size, entry.next, &of, entry.node});
  };
  return kept_open(found.container, found.view->list(context, found.node, place, numbered));
}

void ContainerSubtree::set_own(ContainerNode own) {
  auto added = std::make_shared<const ContainerNode>(std::move(own));
  const std::lock_guard lock(mutex_);
  own_ = std::move(added);
}

std::shared_ptr<const ContainerNode> ContainerSubtree::own() const {
  const std::lock_guard lock(mutex_);
  return own_;
}

// The following two do not open a container, which could wait for its filesystem.

Result<Subtree::OpenedDirectory> ContainerSubtree::open_directory(const RequestContext&, std::uint64_t directory) {
  const auto found = resolve(directory);
  const bool is_own = found && found->container == InodeTable::kOwnNodes;
  return OpenedDirectory{.is_constant = !is_own || !own()->is_live};
}

bool ContainerSubtree::may_gain_names(const RequestContext&, std::uint64_t directory) {
  const auto found = resolve(directory);
  if (!found) return false;
  if (found->container == InodeTable::kOwnNodes) return own()->is_followed || own()->is_live;
  return found->container < containers_.size() &&
         containers_.at(static_cast<std::size_t>(found->container))->is_followed;
}

std::uint64_t ContainerSubtree::inode(const RequestContext& context, std::uint64_t number) {
  const auto found = find(context, number);
  return found ? found->container->inode(found->node) : kMountRoot;
}

std::uint64_t ContainerSubtree::parent_inode(const RequestContext& context, std::uint64_t directory) {
  const auto found = find(context, directory);
  if (!found) return kMountRoot;
  const ContainerNode& container = *found->container;
  return found->node == Node{} ? container.parent_inode : container.inode(found->view->parent(context, found->node));
}

Result<std::string> ContainerSubtree::target(const RequestContext& context, std::uint64_t link) {
  ASSIGN_OR_RETURN(const auto found, find(context, link));
  return found.view->target(found.node);
}

Result<Slice> ContainerSubtree::read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                                     std::uint64_t length) {
  ASSIGN_OR_RETURN(const auto found, find(context, file));
  return kept_open(found.container, found.view->read(context, found.node, offset, length));
}

std::string ContainerSubtree::extended_names(const RequestContext& context, std::uint64_t number) {
  const auto found = find(context, number);
  return found ? found->view->extended_names(context, found->node) : std::string();
}

Result<std::string> ContainerSubtree::extended_attribute(const RequestContext& context, std::uint64_t number,
                                                         std::string_view name) {
  ASSIGN_OR_RETURN(const auto found, find(context, number));
  if (std::ranges::count(found.container->nodes->type(found.node)->extended, name) == 0) {
    return Subtree::extended_attribute(context, number, name);
  }
  return kept_open(found.container, found.view->extended_attribute(context, found.node, name));
}

void ContainerSubtree::for_each_following(const RequestContext& context, std::uint64_t record, BatchCursor& following,
                                          const std::function<bool(std::uint64_t, Bytes)>& take) const {
  const auto found = find(context, record);
  if (!found || found->node.kind != NodeKind::kRecord) return;
  const ContainerTree& tree = *found->container->tree;
  const RecordStore& store = tree.store();
  const auto from = store.records().record_at(context, found->node.value);
  if (!from) return;
  if (following.snapshot != tree.snapshot()) following = {.snapshot = tree.snapshot()};
  store.records().for_each_following(context, *from, following.records, [&](const RecordRef& after, Bytes bytes) {
    const auto address = store.records().address(after.chunk, after.index);
    return address && take(found->container->number({NodeKind::kRecord, *address}), bytes);
  });
}

void ContainerSubtree::add_usage(Usage& usage) {
  for (const auto& store : containers_.stores()) {
    usage.bytes += store->source().size();
    usage.files += store->index().state().totals.records;
  }
}

}  // namespace recordfs
