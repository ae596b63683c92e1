// MountTree: the tree of a whole mount, in node numbers. Its root is one container, mirrored directory, data set or
// database, or has a directory for each of several containers and mirrored directories.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/source.h"
#include "fusefs/tree/container_subtree.h"
#include "fusefs/tree/data_set/data_set_tree.h"
#include "fusefs/tree/database/database_view.h"
#include "fusefs/tree/mirror/mirror.h"

namespace recordfs {

using MountSource = std::variant<MountedContainer, MirroredDirectory, DataSetSource, DatabaseSource>;

// A READ passes the Dispatcher, a Subtree, a View and RecordReader, which asks StoreResources::chunks before the index
// (all functions are listed above on_read in operations.cc).
//
// Nodes are passed by number, which is FUSE's node ID (see inode_table.h). The kind in a number selects the Subtree.
//
// Lifetime of numbers: a part of a record, a key, and any node below a mirrored directory or of a database are counted.
// Each call of lookup() or look_up_and_reference() that returns such a number adds a reference. The number is valid
// until forget() has removed all of them. All other numbers are always valid, and forget() ignores them.
//
// Thread-safe. Functions fail with kNotFound for a number that names no node, and with stale_error() in a mirrored
// directory. Those that read may block as far as RequestContext permits. They return kPending as View does. The owner
// of Error::wait keeps the container open while the caller waits. Functions without a comment are those of Subtree.
class MountTree {
 public:
  static constexpr std::uint64_t kRootNumber = kMountRoot;
  using BatchCursor = ContainerSubtree::BatchCursor;

  // The root lists `sources` in their order. `nested`: even a single one has a directory. Duplicate names get the
  // suffix "~2", "~3" and so on. `record_suffix`: the suffix of record names in listings, which starts with no digit.
  // `types`: the types of records, as set by the user. REQUIRES: StoreResources::address_bits is at most
  // InodeTable::value_bits(), or less than ShardNumbers::value_bits(). A DataSetSource or DatabaseSource is the only
  // one, and not nested.
  MountTree(std::vector<MountSource> sources, bool nested, MirrorSettings settings = {}, std::string record_suffix = {},
            UserTypes types = {});

  MountedContainers& containers() { return containers_; }
  const MountedContainers& containers() const { return containers_; }
  // Returns the mirrored directories, which are no snapshots; null if there are none.
  Mirror* mirror() const { return mirror_.get(); }
  // Returns the data set, whose containers are not in containers(); null if there is none.
  DataSetTree* data_set() const { return data_set_; }

  // Returns the subtree that has a node.
  Subtree& subtree(std::uint64_t number) const {
    if (number == kMountRoot) return *root_;
    if (node_kind(number) == NodeKind::kMirrored) return *mirrored_;
    return *insides_;
  }

  Result<std::uint64_t> lookup(const RequestContext& context, std::uint64_t directory, std::string_view name) const;
  // Combines lookup() and status(). On failure, no reference is added.
  Result<FileStatus> look_up_and_reference(const RequestContext& context, std::uint64_t directory,
                                           std::string_view name) const;
  // Returns the number of a listed entry, as lookup() does, without reading. Call it only from `emit`. REQUIRES:
  // entry.container is not null.
  std::uint64_t look_up_and_reference(const MountEntry& entry) const {
    return insides_->look_up_and_reference(*entry.container, entry.node);
  }
  void forget(std::uint64_t number, std::uint64_t lookups) const { subtree(number).forget(number, lookups); }
  void for_each_following(const RequestContext& context, std::uint64_t record, BatchCursor& following,
                          const std::function<bool(std::uint64_t number, Bytes bytes)>& take) const {
    insides_->for_each_following(context, record, following, take);
  }

  // Returns whether the contents of any node may change.
  bool may_change() const { return mirror_ != nullptr || insides_->may_grow(); }
  // Returns how far apart the numbers of two consecutive records in small chunks can be.
  std::uint64_t record_reach() const { return cache_.record_reach.load(std::memory_order_relaxed); }
  // For statfs: the containers' bytes, and their records as far as scanned, plus what is in use on the filesystems of
  // mirrored directories. May block.
  Usage usage(const RequestContext& context) const;
  // Returns how many keys, and records with a part, the kernel has references to.
  std::size_t known_insides() const { return inodes_.rows(); }

 private:
  void add_mirror(std::vector<MirroredDirectory> directories, MirrorSettings settings, bool is_root);
  void add_database(DatabaseSource source, MirrorSettings settings);
  void add_sources(std::vector<MountSource> sources, bool nested, MirrorSettings settings);

  TreeContext cache_;
  InodeTable inodes_;
  MountedContainers containers_{cache_, inodes_};
  std::unique_ptr<ContainerSubtree> insides_;
  std::unique_ptr<Mirror> mirror_;   // null without mirrored directories
  DataSetTree* data_set_ = nullptr;  // insides_; null without a data set
  Subtree* root_ = nullptr;
  Subtree* mirrored_ = nullptr;  // mirror_, or without it insides_, which has no such nodes
};

}  // namespace recordfs
