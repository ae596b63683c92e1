#include "fusefs/tree/mirror/mirrored_containers.h"

#include <sys/stat.h>

#include <utility>

namespace recordfs {

Result<std::shared_ptr<const RecordStore>> MirroredContainers::open_store(const MirroredNode& node,
                                                                          const RootedDir& source) const {
  auto file = source.open_file(node.path, node.state.device);
  if (!file) return file.error().code == Code::kNotFound ? stale_error() : std::move(file).error();
  struct stat st {};
  if (::fstat(file->number(), &st) != 0) return place_error(errno);
  if (!node.state.is_unchanged(FileState::of(st))) return stale_error();
  return open_(std::move(*file), source.name() + "/" + node.path);
}

Result<std::shared_ptr<const ContainerNode>> MirroredContainers::get(const MirroredNode& node, const RootedDir& source,
                                                                     const std::string& shown_path,
                                                                     const Ownership& ownership) {
  if (auto open = recent_.find(node.number)) return *open;
  ASSIGN_OR_RETURN(const auto store, open_store(node, source));
  auto container_node = std::make_unique<ContainerNode>();
  container_node->id = node.number;
  container_node->ownership = ownership;
  container_node->tree = std::make_unique<const ContainerTree>(store, cache_, node.number);
  const auto wanted = InodeTable::wanted(shown_path, container_node->tree->values());
  const auto begin = inodes_.add(node.number, wanted);
  if (!begin) return Error{.code = Code::kLimit, .detail = "too many mirrored containers"};
  container_node->begin = *begin;
  container_node->inode_begin = wanted.begin;
  container_node->root_number = node.number;
  container_node->root_inode = mirrored_inode(shown_path);
  container_node->is_mirrored = true;
  auto closer = closers_->of(container_node->tree->store().source().filesystem());
  return recent_.add(node.number, closed_later<const ContainerNode>(std::move(closer), std::move(container_node)));
}

void MirroredContainers::forget(std::uint64_t container) {
  recent_.drop(container);
  inodes_.remove(container);
}

}  // namespace recordfs
