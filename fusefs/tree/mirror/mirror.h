// Mirror: directories of the source, shown in their current state.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bounded_lru.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/mirror/closers.h"
#include "fusefs/tree/mirror/mirrored_sources.h"
#include "fusefs/tree/mirror/probes.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {

// Opens a store for a file. `path` is for log lines and errors.
using OpenContainer = std::function<Result<std::shared_ptr<const RecordStore>>(
    const RequestContext& context, Descriptor file, const std::string& path)>;

struct MirrorSettings {
  ProbeHead probe;
  OpenContainer open;
  std::function<void(Ownership&)> adjust;  // changes the source's owner and permissions; may be null
};

// Thread-safe. Functions that read the source do so in the calling thread, and may block as far as RequestContext
// permits. They return kPending only if it refuses, with no Error::wait. A number without references fails with
// stale_error(), and so does one whose file has been removed or replaced, unless Mirror still has that file open.
class Mirror {
 public:
  // `is_root`: the only directory is the root of the mount and has its number. `cache` and `inodes` must outlive
  // this.
  Mirror(std::vector<MirroredDirectory> directories, MirrorSettings settings, bool is_root, CachedFiles& cache,
         InodeTable& inodes);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Returns whether a number means a node of a mirrored directory: a directory, a file or link that is passed through,
  // or a container's own directory. Nodes inside containers have other numbers.
  bool owns(std::uint64_t number) const {
    return node_kind(number) == NodeKind::kMirrored || (is_root_ && number == kRoot);
  }
  // Returns whether any number of the mount means a container's own directory in a mirrored one.
  bool is_container(std::uint64_t number) const;

  // The following functions REQUIRE owns(number).
  //
  // Looks up a name in a directory and adds a reference. Reads the head of a regular file once per state, to tell
  // whether it is a container. Fails with kNotFound if there is no such name, or for a socket, FIFO or device.
  Result<FileStatus> look_up_and_reference(const RequestContext& context, std::uint64_t directory,
                                           std::string_view name);
  // For a container, returns the status at its lookup. Does not read the source for that.
  Result<FileStatus> status(const RequestContext& context, std::uint64_t number);
  Result<std::string> target(const RequestContext& context, std::uint64_t link) const;
  // Returns up to `length` bytes of a file that is passed through, and fewer only at its end.
  Result<Slice> read(const RequestContext& context, std::uint64_t file, std::uint64_t offset, std::uint64_t length);
  // Closes what is open of a node, after InodeTable::forget() has returned it.
  void drop(std::uint64_t number);
  // Returns the inode number of a node or of its parent directory, or that of the mount's root if it is unknown.
  std::uint64_t inode(std::uint64_t number) const;
  std::uint64_t parent_inode(std::uint64_t number) const;
  // Returns the container whose own directory the node is, and opens it if necessary. The most recently used ones stay
  // open, and others while their pointers are held. Fails with kNotFound if it is another kind of node, with
  // stale_error() if the path has another file or state now, and with kLimit if no range of numbers is free. Also fails
  // as RootedDir::open_file() and OpenContainer.
  Result<std::shared_ptr<const ContainerNode>> container(const RequestContext& context, std::uint64_t number);

  // Opens a directory for list(). Returns its handle, which is never 0.
  Result<std::uint64_t> open_directory(const RequestContext& context, std::uint64_t directory);
  // Emits the entries of an opened directory, with "." and ".." and without sizes. Starts at `place`: 0 or the `next`
  // of an entry, also if the directory had to be opened again. Succeeds once `emit` returned false or every entry was
  // emitted. Calls fstatat() for each regular file, and probes those whose state is new.
  Result<void> list(const RequestContext& context, std::uint64_t directory, std::uint64_t opened, std::uint64_t place,
                    const EmitEntry& emit);
  void close_directory(std::uint64_t opened) { streams_.drop(opened); }

  // `source` is the index of a mirrored directory.
  std::uint64_t number_of_source(std::size_t source) const { return numbers_[source]; }

  // Bytes and files in use on the filesystems of the directories. Omits those that cannot be asked.
  struct Usage {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
  };
  Usage usage(const RequestContext& context) const;

  std::size_t open_containers() const { return containers_.size(); }

 private:
  static constexpr std::uint64_t kRoot = kMountRoot;
  static constexpr std::size_t kOpenContainers = 64;
  static constexpr std::size_t kOpenFiles = 32;
  static constexpr std::size_t kOpenDirectories = 32;

  Result<InodeTable::MirroredPointer> node(std::uint64_t number) const;
  Result<std::shared_ptr<DirectoryStream>> stream(const RequestContext& context, std::uint64_t directory,
                                                  std::uint64_t opened);
  Result<Descriptor> open(const RequestContext& context, const MirroredNode& node) const;
  Result<std::shared_ptr<const Descriptor>> open_file(const RequestContext& context, const MirroredNode& node);
  void sweep();

  const bool is_root_;
  const MirroredSources sources_;
  const OpenContainer open_container_;
  CachedFiles& cache_;
  InodeTable& inodes_;
  Probes probes_;
  std::vector<std::uint64_t> numbers_;  // by directory
  BoundedLru<std::uint64_t, std::shared_ptr<const ContainerNode>> containers_{kOpenContainers};
  BoundedLru<std::uint64_t, std::shared_ptr<const Descriptor>> files_{kOpenFiles};
  BoundedLru<std::uint64_t, std::shared_ptr<DirectoryStream>> streams_{kOpenDirectories};
  std::atomic<std::uint64_t> next_stream_{1};
  Closers closers_;
};

}  // namespace recordfs
