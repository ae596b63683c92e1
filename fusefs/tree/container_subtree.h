// ContainerSubtree: the nodes in the containers of a mount.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "fusefs/tree/container_node.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/subtree.h"

namespace recordfs {

// Opens the containers that are not sources of the mount. Thread-safe.
class ContainerOpener {
 public:
  using Pointer = std::shared_ptr<const ContainerNode>;

  ContainerOpener() = default;
  virtual ~ContainerOpener() = default;
  ContainerOpener(const ContainerOpener&) = delete;
  ContainerOpener& operator=(const ContainerOpener&) = delete;

  // Returns the container with this ContainerNode::id, and opens it if necessary.
  virtual Result<Pointer> container(const RequestContext& context, std::uint64_t id) = 0;
  // Closes what is open of a mirrored node, after InodeTable::forget() has returned it.
  virtual void drop(std::uint64_t) {}
};

// Serves the nodes of all containers: those of the sources, in mirrored directories, and of a data set. Also those
// that are in no container (InodeTable::kOwnNodes). InodeTable finds a node's container, and the container the View.
class ContainerSubtree : public Subtree {
 public:
  // Both must outlive this.
  ContainerSubtree(const MountedContainers& containers, InodeTable& inodes)
      : containers_(containers), inodes_(inodes) {}

  // Sets what opens other containers, before the first request. It must outlive this, or be a part of it.
  void set_opener(ContainerOpener* opener) { opener_ = opener; }
  // Sets the nodes that are in no container (InodeTable::kOwnNodes). Requests in progress finish on the previous ones.
  void set_own(ContainerNode own);

  Result<LookupResult> lookup(const RequestContext& context, std::uint64_t directory, std::string_view name) override;
  // Returns the number of a listed entry, as lookup() does, without reading.
  std::uint64_t look_up_and_reference(const ContainerNode& container, const Node& node);
  void forget(std::uint64_t number, std::uint64_t lookups) override;
  Result<FileStatus> status(const RequestContext& context, std::uint64_t number) override;
  Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t place,
                    const EmitEntry& emit) override;
  Result<OpenedDirectory> open_directory(const RequestContext&, std::uint64_t directory) override;
  bool may_gain_names(const RequestContext&, std::uint64_t directory) override;
  std::uint64_t inode(const RequestContext& context, std::uint64_t number) override;
  std::uint64_t parent_inode(const RequestContext& context, std::uint64_t directory) override;
  Result<std::string> target(const RequestContext& context, std::uint64_t link) override;
  Result<Slice> read(const RequestContext& context, std::uint64_t file, std::uint64_t offset,
                     std::uint64_t length) override;
  std::string extended_names(const RequestContext& context, std::uint64_t number) override;
  Result<std::string> extended_attribute(const RequestContext& context, std::uint64_t number,
                                         std::string_view name) override;

  // Adds what statfs shows.
  virtual void add_usage(Usage& usage);
  // Returns whether contents or names may change.
  virtual bool may_grow() const { return containers_.may_grow(); }

  // What for_each_following() keeps for the caller's next call.
  struct BatchCursor {
    std::uint64_t snapshot = UINT64_MAX;  // of the container; UINT64_MAX: none
    RecordReader::BatchCursor records{};
  };
  // Calls `take` for the readable records that follow `record` in the container, until it returns false. Stops early at
  // a chunk that cannot be decoded now or is too large for the cache. May decode, and so take as long as a read.
  void for_each_following(const RequestContext& context, std::uint64_t record, BatchCursor& following,
                          const std::function<bool(std::uint64_t number, Bytes bytes)>& take) const;

 protected:
  // A node of a container, which this keeps open.
  struct ResolvedNode {
    std::shared_ptr<const ContainerNode> container;
    Node node;
    const View* view;
  };
  Result<ResolvedNode> find(const RequestContext& context, std::uint64_t number) const;
  std::optional<InodeTable::ResolvedInode> resolve(std::uint64_t number) const { return inodes_.find(number); }

 private:
  std::shared_ptr<const ContainerNode> own() const;

  const MountedContainers& containers_;
  InodeTable& inodes_;
  ContainerOpener* opener_ = nullptr;  // null: all containers are sources
  mutable std::mutex mutex_;           // guards the next
  std::shared_ptr<const ContainerNode> own_;
};

}  // namespace recordfs
