// Opened directories of a RemoteTree.
#pragma once

#include <memory>
#include <string>

#include "fusefs/tree/mirror/remote_tree.h"

namespace recordfs {

// Opens a directory for listing, without a request. Reads its pages as they are needed, unless the tree has a fresh
// listing, and gives the tree what was read. `tree` must outlive the result.
std::shared_ptr<MirroredListing> list_remote(const RemoteTree& tree, std::string directory);

}  // namespace recordfs
