// The root of a mount in which each source has a directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusefs/tree/container_node.h"

namespace recordfs {

// A source with a directory in the mount's root, or as the root.
struct TopDirectory {
  std::string name;
  std::optional<std::size_t> container{};  // nullopt: a mirrored directory
  std::uint64_t number = kMountRoot;
  std::uint64_t inode = 0;  // of a mirrored directory
};

// Returns the node of the root. `containers` must outlive the result.
std::shared_ptr<const NodeTree> source_directory(const MountedContainers& containers,
                                                 std::vector<TopDirectory> sources);

}  // namespace recordfs
