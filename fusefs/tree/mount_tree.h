// MountTree: the tree of a whole mount, in node numbers. Its root is one container, mirrored directory, data set or
// database, or has a directory for each of several containers and mirrored directories.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/source.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/database/database_tree.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/joined/joined_set.h"
#include "fusefs/tree/mirror/mirror.h"

namespace recordfs {

// Returns the owner and the read permissions of a source file.
Ownership ownership_of(const FileSource::Status& status);

using MountSource = std::variant<MountedContainer, MirroredDirectory, JoinedSource, DatabaseSource>;

// Returns whether a number that names a node names a record.
constexpr bool is_record(std::uint64_t number) { return node_kind(number) == NodeKind::kRecord; }

// A READ passes the Dispatcher, the MountTree, a ContainerNode, a View and RecordReader, which asks Services::chunks
// before the index (all functions are listed above on_read in operations.cc).
//
// Nodes are passed by number, which is FUSE's node ID (see inode_table.h).
//
// Lifetime of numbers: a part of a record, a key, and any node below a mirrored directory or of a database are counted.
// Each call of lookup() or look_up_and_reference() that returns such a number adds a reference. The number is valid
// until forget() has removed all of them. All other numbers are always valid, and forget() ignores them.
//
// Thread-safe. Functions fail with kNotFound for a number that names no node, and with stale_error() in a mirrored
// directory. Those that read may block as far as RequestContext permits. They return kPending as View does. The owner
// of Error::wait keeps the container open while the caller waits.
class MountTree {
 public:
  static constexpr std::uint64_t kRootNumber = kMountRoot;

  // The root lists `sources` in their order. `nested`: even a single one has a directory. Duplicate names get the
  // suffix "~2", "~3" and so on. `record_suffix`: the suffix of record names in listings, which starts with no digit.
  // `types`: the types of records, as set by the user. REQUIRES: Services::address_bits is at most
  // InodeTable::value_bits(), or less than ShardNumbers::value_bits(). A JoinedSource or DatabaseSource is the only
  // one, and not nested.
  MountTree(std::vector<MountSource> sources, bool nested, MirrorSettings settings = {}, std::string record_suffix = {},
            UserTypes types = {});

  MountedContainers& containers() { return containers_; }
  const MountedContainers& containers() const { return containers_; }
  // Returns the mirrored directories, which are no snapshots; null if there are none.
  Mirror* mirror() const { return mirror_.get(); }
  // Returns the data set, whose containers are not in containers(); null if there is none.
  JoinedSet* joined() const { return joined_.get(); }
  // Returns whether a number means a node of a database, other than its files/.
  bool is_database(std::uint64_t number) const { return database_ != nullptr && database_->owns(number); }

  Result<std::uint64_t> lookup(const RequestContext& context, std::uint64_t directory, std::string_view name) const;
  // Combines lookup() and status(). On failure, no reference is added.
  Result<FileStatus> look_up_and_reference(const RequestContext& context, std::uint64_t directory,
                                           std::string_view name) const;
  // Returns the number of a listed entry, as lookup() does, without reading. Call it only from `emit`. REQUIRES:
  // entry.container is not null.
  std::uint64_t look_up_and_reference(const MountEntry& entry) const;
  // Removes `lookups` references from a number.
  void forget(std::uint64_t number, std::uint64_t lookups) const;
  Result<FileStatus> status(const RequestContext& context, std::uint64_t number) const;
  // Emits the entries of a directory of containers or of the root, as View::list() does.
  Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                    const EmitEntry& emit) const;

  // Returns whether a directory is mirrored, and not inside a container. Mirror::list() lists it.
  bool is_mirrored(std::uint64_t number) const {
    return mirror_ != nullptr && mirror_->owns(number) && !mirror_->is_container(number);
  }
  // Returns whether a directory may get new names: it is mirrored, or of a followed container or data set, or of a
  // database.
  bool may_gain_names(const RequestContext& context, std::uint64_t directory) const;

  // Returns the inode number of a directory or of its parent, or that of the root if the number is invalid.
  std::uint64_t inode(const RequestContext& context, std::uint64_t directory) const;
  std::uint64_t parent_inode(const RequestContext& context, std::uint64_t directory) const;
  Result<std::string> target(const RequestContext& context, std::uint64_t link) const;
  Result<Slice> read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                     std::uint64_t length) const;

  // Returns the names of a node's extended attributes, each terminated by a zero byte.
  std::string extended_names(const RequestContext& context, std::uint64_t number) const;
  // Fails with kNotFound if the node has none of that name.
  Result<std::string> extended_attribute(const RequestContext& context, std::uint64_t number,
                                         std::string_view name) const;

  // What for_each_following() keeps for the caller's next call.
  struct Following {
    std::uint64_t snapshot = UINT64_MAX;  // of the container; UINT64_MAX: none
    RecordReader::Following records{};
  };
  // Calls `take` for the readable records that follow `record` in the container, until it returns false. Stops early at
  // a chunk that cannot be decoded now or is too large for the cache. May decode, and so take as long as a read.
  void for_each_following(const RequestContext& context, std::uint64_t record, Following& following,
                          const std::function<bool(std::uint64_t number, Bytes bytes)>& take) const;

  // Returns how far apart the numbers of two consecutive records in small chunks can be.
  std::uint64_t record_reach() const { return cache_.record_reach.load(std::memory_order_relaxed); }

  // For statfs: the containers' bytes, and their records as far as scanned, plus what is in use on the filesystems of
  // mirrored directories. May block.
  Mirror::Usage usage(const RequestContext& context) const;
  // Returns how many keys, and records with a part, the kernel has references to.
  std::size_t known_insides() const { return inodes_.rows() + (database_ == nullptr ? 0 : database_->known_nodes()); }

 private:
  // A source with a directory in the mount's root, or as the root.
  struct Top {
    std::string name;
    std::optional<std::size_t> container;  // nullopt: a mirrored directory
    std::uint64_t number = kRootNumber;
  };
  // A node of a container, which this keeps open.
  struct ResolvedNode {
    std::shared_ptr<const ContainerNode> container_node;
    Node node;
    const View* view;
  };

  bool is_own_root(std::uint64_t number) const { return nested_ && number == kRootNumber; }
  bool is_joined(std::uint64_t number) const { return joined_ != nullptr && joined_->owns(number); }
  // Returns the container, by InodeTable::ResolvedInode::container, and the node that a number means.
  std::optional<InodeTable::ResolvedInode> resolve(std::uint64_t number) const;
  Result<std::shared_ptr<const ContainerNode>> container(const RequestContext& context, std::uint64_t id) const;
  Result<ResolvedNode> find(const RequestContext& context, std::uint64_t number) const;
  Result<void> list_tops(std::uint64_t place, const EmitEntry& emit) const;

  const bool nested_;
  mutable CachedFiles cache_;
  mutable InodeTable inodes_;
  MountedContainers containers_{cache_, inodes_};
  std::vector<Top> tops_;
  Ownership root_ownership_;                // of a root that is not a source
  std::unique_ptr<Mirror> mirror_;          // null without mirrored directories
  std::unique_ptr<JoinedSet> joined_;       // null without a data set
  std::unique_ptr<DatabaseTree> database_;  // null without a database
};

}  // namespace recordfs
