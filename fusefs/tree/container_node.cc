#include "fusefs/tree/container_node.h"

namespace recordfs {

bool ContainerNode::is_permanent(Node node, FileType type) const {
  return !is_followed || type == FileType::kLink || node_type(node)->is_permanent;
}

FileStatus ContainerNode::status(std::uint64_t node_number, Node node, NodeAttributes attributes) const {
  FileStatus status{node_number, inode(node), attributes.type, attributes.size, ownership};
  if (!is_followed) return status;
  if (is_permanent(node, attributes.type)) {
    status.ownership.modified = first_modified;
  } else {
    status.cache_policy = CachePolicy::kSnapshot;
  }
  return status;
}

}  // namespace recordfs
