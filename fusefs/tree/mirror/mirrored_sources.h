// MirroredSources: the directories of a mirror, and how their nodes are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/request_context.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {

struct MirroredDirectory {
  std::string name;  // in the mount, unless it is the root
  std::shared_ptr<const RootedDir> directory;
};

// Converts an error for a node that the kernel knows: a path that is gone makes the node stale.
Error as_stale(Error error);

// Immutable, thread-safe.
class MirroredSources {
 public:
  // `adjust` changes the source's owner and permissions; may be null.
  MirroredSources(std::vector<MirroredDirectory> directories, bool is_root, std::function<void(Ownership&)> adjust)
      : directories_(std::move(directories)), is_root_(is_root), adjust_(std::move(adjust)) {}

  const std::vector<MirroredDirectory>& directories() const { return directories_; }
  const RootedDir& of(const MirroredNode& node) const { return *directories_[node.source].directory; }

  // Looks up the path of a node. Fails with stale_error() if it is another file now.
  Result<Looked> look(const RequestContext& context, const MirroredNode& node) const;

  // Returns a node's path in the mount.
  std::string shown_path(const MirroredNode& node) const;
  // Returns the inode number of a node and of its parent directory.
  std::uint64_t inode(const MirroredNode& node) const;
  std::uint64_t parent_inode(const MirroredNode& node) const;
  Ownership ownership_of(MirroredType type, const FileState& state) const;
  FileStatus status_of(const MirroredNode& node, const FileState& state) const;

 private:
  const std::vector<MirroredDirectory> directories_;
  const bool is_root_;
  const std::function<void(Ownership&)> adjust_;
};

}  // namespace recordfs
