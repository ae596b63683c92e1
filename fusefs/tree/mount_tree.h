// The tree of a whole mount: one container or mirrored directory as the root itself, or a directory for each of
// several. Speaks in numbers of nodes, as the kernel does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/source.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/known_records.h"
#include "fusefs/tree/mirror/mirror.h"

namespace recordfs {

// The owner and read bits of the source (DESIGN §1 rule 6).
Ownership ownership_of(const FileSource::Status& status);

struct MountedContainer {
  std::string name;  // of its directory, where there are several
  std::shared_ptr<const RecordStore> store;
  Ownership ownership;
  bool is_followed = false;  // MountTree::grow() will be called for it
};

using MountSource = std::variant<MountedContainer, MirroredDirectory>;

// Any thread. Functions with a WaitTicket can answer kPending, as ContainerTree's do; a number that names nothing is
// kNotFound.
//
// A number of a part of a record, of a key, or in a mirrored directory, is good until it has been forgotten as often as
// lookup() and look_up_and_reference() have given it out. All others are good for ever, and to forget them does
// nothing.
class MountTree {
 public:
  static constexpr std::uint64_t kRootNumber = 1;

  // `nested`: a directory for the container even when there is only one. Equal names get "~2", "~3".
  // `record_suffix`: what the names of records' files end with; it begins with no digit. `types`: those of the records,
  // where the user names them.
  MountTree(std::vector<MountedContainer> containers, bool nested, std::string record_suffix = {},
            UserTypes types = {});
  // The same with directories among the sources; the sources are listed in this order.
  MountTree(std::vector<MountSource> sources, bool nested, MirrorSettings settings, std::string record_suffix = {},
            UserTypes types = {});

  // Reads what listings of the containers' roots show from filesystems that may hang, so that these listings never wait
  // for them.
  void prepare() const;

  Result<std::uint64_t> lookup(std::uint64_t directory, std::string_view name, WaitTicket& ticket) const;
  // The same with what status() says of it. Where it fails, nothing was looked up.
  Result<FileStatus> look_up_and_reference(std::uint64_t directory, std::string_view name, WaitTicket& ticket) const;
  // The number of an entry of a listing, as lookup() gives it.
  std::uint64_t look_up_and_reference(const MountEntry& entry) const;
  void forget(std::uint64_t number, std::uint64_t lookups) const;
  Result<FileStatus> status(std::uint64_t number, WaitTicket& ticket) const;
  // Without "." and "..".
  Result<void> list(std::uint64_t directory, std::uint64_t place, const std::function<bool(const MountEntry&)>& emit,
                    WaitTicket& ticket) const;

  // Shows a longer snapshot of a followed container's file from now on; `container` counts the containers among the
  // sources. `modified` is the file's time. Returns the numbers of the nodes of which another thing is told now.
  // Requests that are under way end on the snapshot before, which drop_unused() frees when they have. One thread at a
  // time calls the two, and none that others wait for.
  std::vector<std::uint64_t> grow(std::size_t container, std::shared_ptr<const RecordStore> store, timespec modified);
  void drop_unused();
  // Whether grow() may be called; and whether names that are not in a directory now may come.
  bool may_grow() const;
  bool may_gain_names(std::uint64_t directory) const;

  // Whether some of it may change, since it is no snapshot; and whether what is in a directory may.
  bool may_change() const { return mirror_ != nullptr; }
  // How many containers of mirrored directories are open now.
  std::size_t open_mirrored() const { return mirror_ == nullptr ? 0 : mirror_->open_containers(); }
  bool may_change(std::uint64_t directory) const { return is_mirrored(directory); }
  // Opens a directory that may change for list_opened(), which hands out the entries as Mirror::list does.
  Result<std::uint64_t> open_directory(std::uint64_t directory) const { return mirror_->open_directory(directory); }
  Result<void> list_opened(std::uint64_t directory, std::uint64_t opened, std::uint64_t place,
                           const std::function<bool(const MountEntry&)>& emit) const {
    return mirror_->list(directory, opened, place, emit);
  }
  void close_directory(std::uint64_t opened) const { mirror_->close_directory(opened); }

  // What stat() shows of a directory, and of the one that it stands in.
  std::uint64_t inode(std::uint64_t directory) const;
  std::uint64_t parent_inode(std::uint64_t directory) const;
  Result<std::string> target(std::uint64_t link) const;
  Result<Slice> read(std::uint64_t file, std::uint64_t offset, std::uint64_t length, WaitTicket& ticket) const;

  // The names of a node's extended attributes, each with a zero byte behind it; and the value of one, which is
  // kNotFound where there is none of that name.
  std::string extended_names(std::uint64_t number) const;
  Result<std::string> extended_attribute(std::uint64_t number, std::string_view name, WaitTicket& ticket) const;

  bool is_record(std::uint64_t number) const;
  // Hands out the numbers and the bytes of the records behind one, in the container's order, without those that can't
  // be read, until `take` has had enough. Ends where a chunk can't be decoded now or is too large to hold. Decodes, so
  // it may take as long as a read.
  void for_each_following(std::uint64_t record,
                          const std::function<bool(std::uint64_t number, Bytes bytes)>& take) const;

  // For statfs: how many records the containers are known to hold so far, and the files beside mirrored directories.
  std::uint64_t known_files() const;
  // For statfs: size of the sources together; of a mirrored directory what is in use on its filesystem.
  std::uint64_t total_size() const;
  // The containers among the sources, as they are shown now.
  std::vector<std::shared_ptr<const RecordStore>> stores() const;
  // How many records the kernel knows a part of.
  std::size_t known_insides() const { return known_.rows(); }

 private:
  // A source that has a directory in the mount's root, or is the root.
  struct Top {
    std::string name;
    std::optional<std::size_t> container;  // none: a mirrored directory
    std::size_t directory = 0;
    std::uint64_t number = kRootNumber;
  };
  // A node of a container, which stays open as long as this is there.
  struct ResolvedNode {
    std::shared_ptr<const ContainerNode> container_node;
    Node node;
  };

  bool is_own_root(std::uint64_t number) const { return nested_ && number == kRootNumber; }
  // In a mirrored directory, and in no container there.
  bool is_mirrored(std::uint64_t number) const {
    return mirror_ != nullptr && mirror_->owns(number) && !mirror_->is_container(number);
  }
  Result<ResolvedNode> find(std::uint64_t number) const;
  Result<ResolvedNode> find_mirrored(std::uint64_t number) const;
  std::shared_ptr<const ContainerNode> container_node(std::size_t container) const;

  static void prepare(const ContainerTree& tree);
  void add(MountedContainer container, Top& top);
  Result<const Top*> top(std::string_view name) const;
  static Result<FileStatus> status_of(const ResolvedNode& found, std::uint64_t number, WaitTicket& ticket);
  std::uint64_t look_up_and_reference(const ContainerNode& container_node, Node node) const;
  Result<void> list_tops(std::uint64_t place, const std::function<bool(const MountEntry&)>& emit) const;
  // An error that is passed on: whoever waits for a container keeps it open.
  static Error waiting(const ResolvedNode& found, Error error, WaitTicket& ticket);

  const bool nested_;
  mutable CachedFiles cache_;
  mutable KnownRecords known_;
  std::vector<Top> tops_;
  std::vector<bool> is_followed_;    // of each container
  mutable std::mutex follow_mutex_;  // guards those of the next that are followed
  std::vector<std::shared_ptr<const ContainerNode>> container_nodes_;
  std::vector<std::shared_ptr<const ContainerNode>> replaced_;  // that somebody may still use
  InodeMap inode_map_;
  Ownership root_ownership_;        // of a root that is no source
  std::unique_ptr<Mirror> mirror_;  // null without mirrored directories
};

}  // namespace recordfs
